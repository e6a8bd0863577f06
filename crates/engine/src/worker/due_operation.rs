//! An operation on its way from the plan to a slot.

use plan::mix::Assignment;

/// One operation that is due, with its instants so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueOperation {
    /// Which one, and its row.
    pub(super) assignment: Assignment,
    /// Index of its target.
    pub(super) target: usize,
    /// Seed of its content.
    pub(super) seed: u64,
    /// When it begins by plan.
    pub(super) intended_at: u64,
    /// When this worker dispatched it.
    pub(super) dispatched_at: u64,
    /// When it got a slot.
    pub(super) acquired_at: u64,
}
