//! An operation that is due, until a slot performs it.

use plan::mix::Assignment;

/// An operation that is due, with its instants so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueOperation {
    /// The operation and its row.
    pub(super) assignment: Assignment,
    /// Index of its target.
    pub(super) target: usize,
    /// Seed of its content.
    pub(super) seed: u64,
    /// The intended start.
    pub(super) intended_at: u64,
    /// When this worker dispatched it.
    pub(super) dispatched_at: u64,
    /// When it got a slot.
    pub(super) acquired_at: u64,
}
