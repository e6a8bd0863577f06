//! Numbers beside a trial's summary that some rules need.

use record::summary::{Operation, TrialSummary};

/// Numbers that are not in a summary but that some rules need; a rule without its number is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// Time-out of an operation, from its start.
    pub timeout_ns: Option<u64>,
    /// Number of targets; in an open load, each has its own pool of connections. 0 counts as one.
    pub targets: u32,
    /// Most operations that a journey performs at a time, each perhaps over a connection of its own. 0 counts as one.
    pub abreast: u32,
    /// Sums over all windows.
    pub windows: Option<WindowSums>,
    /// Time in flight, counted in two ways.
    pub little: Option<TimeInFlight>,
}

/// Two counts of the same time, in operations times nanoseconds: the gauge of operations in flight until the last one
/// had ended, and the sum of the times of all operations.
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
    /// Number of values in all response time histograms.
    pub response_times: u64,
}

/// Each operation and the total.
pub(super) fn operations(trial: &TrialSummary) -> impl Iterator<Item = &Operation> {
    trial.operations.iter().chain([&trial.total])
}
