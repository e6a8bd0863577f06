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
    /// The step of a journey that it is, if it is one.
    pub(super) step: Option<StepRef>,
}

/// Where an operation belongs that is a step of a journey in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepRef {
    /// Place of the journey among those in progress.
    pub(super) journey: u32,
    /// Which of the operations that the step performs at the same time.
    pub(super) lane: u8,
    /// How many operations the journey began before this one.
    pub(super) ordinal: u32,
}
