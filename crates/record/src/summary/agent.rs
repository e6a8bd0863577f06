//! One of several machines that performed a plan together.

use serde::{Deserialize, Serialize};

use super::{Accounting, Distribution, Generator, Machine};

/// The machine that performed a share of the plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentFacts {
    /// Number of the share, from 1.
    pub share: u32,
    /// Shares in all.
    pub of: u32,
    /// Name of the machine, as it calls itself.
    pub host: String,
    /// What it is.
    pub machine: Machine,
    /// Start of the measure phase by its own wall clock: nanoseconds since the Unix epoch, exact to a microsecond.
    pub measure_from_ns: u64,
    /// The machine's since it was started (`/proc/sys/kernel/random/boot_id`): agents with the same one have one clock.
    pub boot_id: String,
    /// Its network namespace: agents with the same one, under one kernel, have the same kernel counters.
    #[serde(default)]
    pub network: String,
    /// The greatest error that its kernel admits for that clock; none where nothing keeps the clock in time.
    pub clock_bound_ns: Option<u64>,
    /// How far its windows may be off those of the coordinator, from exchanges with it; none without a coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_error_ns: Option<u64>,
    /// Its CLOCK_MONOTONIC beside that of the coordinator when the load began; none without a coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset: Option<ClockOffset>,
    /// Windows of the measure phase that it reported before it was lost; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after_windows: Option<u64>,
    /// It was lost, and answers decide how many operations its share has: those that it did not report are not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rest_is_unknown: bool,
}

/// By how much one clock is ahead of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds; negative where it is behind.
    pub ahead_ns: i64,
    /// At most this far off.
    pub bound_ns: u64,
}

/// What an agent did in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Who and where.
    #[serde(flatten)]
    pub facts: AgentFacts,
    /// Where the operations of its share went.
    pub accounting: Accounting,
    /// Intended start to complete answer; succeeded ones.
    pub response_time: Distribution,
    /// Its generator.
    pub generator: Generator,
    /// Why its share spoils the trial, if it does: sentences.
    pub spoiled: Vec<String>,
}

impl AgentFacts {
    /// `share 3 (host)`, for sentences.
    pub fn name(&self) -> String {
        format!("share {} ({})", self.share, self.host)
    }
}
