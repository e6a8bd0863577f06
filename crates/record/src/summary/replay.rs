//! Whether a replay was as bursty as the log.

use serde::{Deserialize, Serialize};

/// Dispersion of the counts of a replay, as recorded and as replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// How coarse the stamps of the log were, if the experiment says so. At scales below it, the recorded dispersion is
    /// that of instants drawn within the stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// Length of the bins that operations were counted in.
    pub bin_ns: u64,
    /// Over all scales.
    pub burstiness: Burstiness,
    /// From the shortest to the longest; none where the trial was too short.
    pub scales: Vec<ReplayScale>,
}

/// Dispersion at one scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReplayScale {
    /// Length of the intervals that operations are counted in.
    pub scale_ns: u64,
    /// How many there were.
    pub intervals: u64,
    /// Variance over mean of the counts of operations that were due.
    pub recorded: f64,
    /// The same of operations that were sent.
    pub replayed: f64,
    /// (replayed − recorded) / max(recorded, 1).
    pub change: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What that means.
    pub burstiness: Burstiness,
}

/// What became of the burstiness of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Burstiness {
    /// The replay has it, within the tolerance.
    Kept,
    /// The replay has less of it.
    Flattened,
    /// The replay has more of it.
    Burstier,
    /// The interval reaches over the tolerance.
    Undecided,
}
