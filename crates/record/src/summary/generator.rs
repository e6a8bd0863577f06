//! What a trial says of the instrument itself.

use serde::{Deserialize, Serialize};

use super::{Distribution, Scheduling};

/// The instrument itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of all workers in the measure phase.
    pub cpu_ns: u64,
    /// Of the busiest worker: CPU time over wall time.
    pub cpu_ratio: f64,
    /// Of the worker that did so most: time of polling with nothing to do, which `cpu_ns` and `cpu_ratio` are without,
    /// over wall time; none where workers sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polled_ratio: Option<f64>,
    /// How the kernel scheduled the worker that it treated worst; none in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// How late operations were released.
    pub dispatch_lag: Distribution,
    /// Parts of the response time of operations at or beyond its p99.
    pub tail_share: TailShare,
    /// Response time of a precomputed answer in the same process, if it was measured.
    pub floor: Option<Distribution>,
    /// CPU time of programs that are no part of the run, over wall time: 1.5 is that of one and a half processors; none
    /// where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cores: Option<f64>,
    /// Time the hypervisor took away, over all processors.
    pub steal_ratio: f64,
    /// Time the control group was throttled.
    pub throttled_ns: u64,
    /// Of the busiest worker: time waiting for a processor over wall time.
    pub run_queue_ratio: f64,
    /// Anything else worth knowing.
    pub notes: Vec<String>,
}

/// Parts of the tail's response time; they add up to 1, or are all 0 where there is no tail.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TailShare {
    /// The generator's own lateness.
    pub dispatch_lag: f64,
    /// Waiting for a connection.
    pub queue_wait: f64,
    /// Connecting and encoding.
    pub prepare: f64,
    /// The target and the way there.
    pub service_time: f64,
}
