//! An operation on its way from the plan to a lane.

use plan::mix::Assignment;

/// One operation that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    /// Which one, and its row.
    pub(super) assignment: Assignment,
    /// Index of its target.
    pub(super) target: usize,
    /// Seed of its content.
    pub(super) seed: u64,
    /// When the plan says that it begins.
    pub(super) intended_at: u64,
    /// When this worker took it up.
    pub(super) dispatched_at: u64,
    /// When it had a lane.
    pub(super) acquired_at: u64,
}
