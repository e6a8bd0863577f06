//! What a finished trial leaves behind: facts, no judgement. `judge` makes the summary of it.

mod join;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Totals;
use crate::summary::{
    AgentFacts, FirstFailure, InFlight, Load, Observer, Phases, Placement, Scheduling, System,
    Traces,
};

/// The facts of one executed trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialFacts {
    /// Number in the run, from 1.
    pub index: u32,
    /// Block it belongs to, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub order: u32,
    /// Whether it was executed at the same time as the other trial of its block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duet: bool,
    /// Name of the arm.
    pub arm: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Length of a window.
    pub window_ns: u64,
    /// What was offered.
    pub load: Load,
    /// Time-out of an operation.
    pub timeout_ns: u64,
    /// Mean think time of a users load.
    pub think_mean_ns: Option<u64>,
    /// How long each phase lasted.
    pub phases: Phases,
    /// Every count and histogram of the measure phase, all workers merged.
    pub totals: Totals,
    /// Operations begun and not finished.
    pub in_flight: InFlight,
    /// Operations due in the measure phase and not finished, times nanoseconds, until the last had ended: counted apart
    /// from the totals, whose [`time_ns`](crate::OperationTotals::time_ns) it must equal.
    pub area_ns: i128,
    /// Operations that waited for a connection, and time with every connection busy.
    pub pool: PoolFacts,
    /// What the self-check saw.
    pub generator: GeneratorFacts,
    /// Processes under test.
    pub systems: Vec<System>,
    /// What arrived elsewhere.
    pub observers: Vec<Observer>,
    /// Kernel counters, as deltas over the measure phase.
    pub kernel: BTreeMap<String, i64>,
    /// Raw samples that were not kept, because the disk could not keep up.
    pub samples_dropped: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Why it ended before its time, if it did.
    pub died: Option<String>,
    /// What it was that ended; none where nothing of its own did, and in records of older versions.
    #[serde(default)]
    pub died_as: Option<Role>,
    /// When that was noticed, from the start of the measure phase.
    #[serde(default)]
    pub died_at_ns: Option<i64>,
    /// The last lines that it printed.
    #[serde(default)]
    pub last_words: Vec<String>,
    /// Why its measure phase was ended before the plan's end, with nothing being wrong.
    #[serde(default)]
    pub early_end: Option<EarlyEnd>,
    /// What was done to its processes as the plan says, and when, from the start of the measure phase.
    #[serde(default)]
    pub faults: Vec<FaultDone>,
    /// What was seen of the first failure of each kind.
    #[serde(default)]
    pub first_failures: Vec<FirstFailure>,
    /// The operations that it lists one by one; none where it was not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// Whose share of the trial this is, where several machines perform it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentFacts>,
    /// How many shares these facts were joined from; 0 where one machine performed the trial. The facts of share `n` are
    /// those of [`agent`](crate::folder::names::agent).
    #[serde(default, skip_serializing_if = "is_none")]
    pub merged_from: u32,
    /// Confidence of each of its intervals: above 0.95 where it was looked at several times (`--adaptive`),
    /// so that what was found at any of the looks holds with 0.95.
    pub confidence: f64,
}

impl TrialFacts {
    /// Reads the facts of a trial as they are stored.
    ///
    /// Errors: it is not that
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

/// What something whose end is the end of a trial was there for. Only the system's end says anything about the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What is under test.
    System,
    /// A server that the system needs.
    Service,
    /// Counts what arrives elsewhere.
    Observer,
    /// A thread of the generator.
    Worker,
}

impl Role {
    /// In the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Service => "service",
            Self::Observer => "observer",
            Self::Worker => "worker",
        }
    }
}

/// Something that was done on purpose to a process of the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultDone {
    /// Its name in the experiment.
    pub process: String,
    /// `kill`, `stop`, `freeze`, `start` or `continue`.
    pub action: String,
    /// When, from the start of the measure phase.
    pub at_ns: i64,
    /// Why it could not be done, if it could not.
    pub failed: Option<String>,
}

/// Why a measure phase, or the warm-up before it, was ended before its planned end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyEnd {
    /// In one word.
    pub reason: EndReason,
    /// What was seen, in one sentence.
    pub why: String,
    /// One thing to do, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The criteria that could no longer be met, as written.
    pub criteria: Vec<String>,
}

/// Why a measure phase was ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// A criterion could no longer be met (`--fail-fast`).
    FailFast,
    /// The intervals were narrow enough (`--adaptive`).
    Precise,
    /// Every operation failed in the same way from the start, and `--keep-going` was not given.
    AllFailed,
}

/// The connection pool of an open load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolFacts {
    /// Greatest number of connections at a time.
    pub connections_max: u64,
    /// Connections opened in all.
    pub connections_opened: u64,
    /// Connections that the peer closed or that were given up.
    pub connections_lost: u64,
    /// Operations that waited for a free connection.
    pub waited: u64,
    /// Time during which every allowed connection was busy.
    pub saturated_ns: u64,
    /// When that happened first, from the start of the measure phase.
    pub saturated_first_ns: Option<u64>,
    /// Journeys of the measure phase that were missed because others had all connections that journeys may have of their
    /// own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journeys_unconnected: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

/// What the self-check saw. Effects decide, resources name the cause.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorFacts {
    /// How long it looked: the measure phase, as exactly as it could tell its ends.
    pub watched_ns: u64,
    /// Per worker: CPU time in the measure phase, without that of `worker_polled_ns`.
    pub worker_cpu_ns: Vec<u64>,
    /// Per worker: time in which it polled and found nothing to do; zeros where workers sleep.
    #[serde(default)]
    pub worker_polled_ns: Vec<u64>,
    /// Per worker: how the kernel scheduled it; empty in virtual time and in records of older versions.
    #[serde(default)]
    pub worker_scheduling: Vec<Scheduling>,
    /// Per worker: time waiting for a processor.
    pub worker_run_queue_ns: Vec<u64>,
    /// Per worker: switches that it did not ask for.
    pub worker_involuntary_switches: Vec<u64>,
    /// CPU time of the whole generator process in the measure phase, user and system, with what workers polled.
    pub process_cpu_ns: u64,
    /// Greatest resident memory of the generator.
    pub rss_peak_bytes: u64,
    /// CPU time of all programs of the machine in the measure phase, this one among them and without interrupts; none
    /// where it could not be read, and in records of older versions.
    #[serde(default)]
    pub programs_cpu_ns: Option<u64>,
    /// Steal over all processors, as a ratio.
    pub steal_ratio: f64,
    /// Time the control group was throttled.
    pub throttled_ns: u64,
    /// Some CPU pressure, as a ratio of wall time.
    pub pressure_ratio: f64,
    /// Overshoot of the timer, measured at the start: median.
    pub timer_grain_ns: u64,
    /// Cost of one reading of the clock.
    pub clock_read_ns: u64,
    /// Retries of a SYN that are a second apart before their distances double (`tcp_syn_linear_timeouts`); kernels
    /// that do not have the setting double from the first.
    pub syn_linear_timeouts: u32,
    /// File descriptors: greatest number in use and the limit.
    pub file_descriptors: (u64, u64),
    /// Which processors each side had.
    pub placement: Placement,
    /// Sentences on what could not be read or was near a limit.
    pub notes: Vec<String>,
}
