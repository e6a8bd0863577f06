//! What the rules look at beside a trial's summary.

use record::summary::{Operation, TrialSummary};

/// What a summary does not say but some rules need; a rule without its number is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// Time-out of an operation, from its start.
    pub timeout_ns: Option<u64>,
    /// Targets, each of which has a pool of connections of its own in an open load; 0 for one.
    pub targets: u32,
    /// Sums over all windows.
    pub windows: Option<WindowSums>,
    /// Time in flight, counted in two ways.
    pub little: Option<TimeInFlight>,
}

/// Two counts of the same time, in operations times nanoseconds: what a gauge saw in flight until the last operation had
/// ended, and the times of all operations added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeInFlight {
    /// By the gauge.
    pub area_ns: i128,
    /// By the records of operations.
    pub times_ns: u128,
}

/// Sums over all windows of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowSums {
    /// Values of all response time histograms.
    pub response_times: u64,
}

/// Each operation and the total.
pub(super) fn operations(trial: &TrialSummary) -> impl Iterator<Item = &Operation> {
    trial.operations.iter().chain([&trial.total])
}
