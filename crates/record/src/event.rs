//! The closed set of events of a trial. Every output is made from them; `events.jsonl` holds them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::summary::{Accounting, ListedOperation};
use crate::trial::EarlyEnd;

/// Phases of a trial, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Processes are started.
    Launch,
    /// Users arrive.
    RampUp,
    /// Run but not judged.
    WarmUp,
    /// Judged.
    Measure,
    /// Waiting for what is in flight.
    Drain,
}

/// Something that happened; `at_ns` counts from the start of the measure phase, and is negative before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at_ns: i64,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The trial begins.
    TrialStarted {
        /// Its number, from 1.
        trial: u32,
        /// Its arm.
        arm: String,
        /// RFC 3339, UTC.
        wall_clock: String,
    },
    /// Everything that the trial needs is there, so that the instants of its phases are known: both
    /// clocks at once.
    Dated {
        /// RFC 3339, UTC.
        wall_clock: String,
    },
    /// A phase begins.
    PhaseEntered {
        /// Which.
        phase: Phase,
    },
    /// A process that we started accepts work.
    ProcessReady {
        /// Its name in the experiment.
        name: String,
        /// Its ids.
        pids: Vec<u32>,
    },
    /// A stretch of live counts, for the screen and for the charts of failures over time.
    Progress(Progress),
    /// A window can get no more samples and was handed over to be stored.
    WindowClosed(WindowCounts),
    /// The first failure of its kind, with what was seen.
    FailureSeen {
        /// Name of the operation.
        operation: String,
        /// Name of the kind.
        kind: String,
        /// What exactly.
        detail: String,
    },
    /// Operations that failed, one by one, where the run is traced.
    FailuresListed {
        /// Some of those that ended since the last such event.
        failures: Vec<ListedOperation>,
    },
    /// A limit of this machine or of the plan was reached for the first time.
    LimitReached {
        /// `in_flight_cap`, `connections`, `streams`, `journeys`, `journey_connections`.
        limit: String,
        /// Its value.
        value: u64,
    },
    /// An idle connection went away.
    ConnectionLost {
        /// How many since the last event of this kind.
        count: u64,
    },
    /// A process that we started ended by itself.
    ProcessDied {
        /// Its name in the experiment.
        name: String,
        /// Exit status or signal, in words.
        status: String,
        /// The last lines that it printed.
        #[serde(default)]
        last_words: Vec<String>,
    },
    /// Something was done to a process as the plan says.
    Fault {
        /// Its name in the experiment.
        name: String,
        /// `kill`, `stop`, `freeze`, `start` or `continue`.
        action: String,
        /// Why it could not be done, if it could not.
        failed: Option<String>,
    },
    /// The user asked to stop.
    Interrupted,
    /// The measure phase was ended before the plan's end, with nothing being wrong.
    EndedEarly(EarlyEnd),
    /// The trial could not begin, and nothing was sent.
    NotExecuted {
        /// Why.
        reason: String,
    },
    /// The trial ended.
    TrialFinished {
        /// Where every planned operation went.
        accounting: Accounting,
    },
}

/// Live counts of the measure phase so far, and what moved since the last such event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The phase.
    pub phase: Option<Phase>,
    /// Begun since the last progress event.
    pub started: u64,
    /// Finished well since the last progress event.
    pub succeeded: u64,
    /// Finished badly since the last progress event.
    pub failed: u64,
    /// Finished a second, of each worker over the time that its counts are of; none where none came.
    #[serde(default)]
    pub finished_rate: Option<f64>,
    /// Begun and not finished now.
    pub in_flight: u64,
    /// Median response (closed: service) time of the last window, if there was one.
    pub p50_ns: Option<u64>,
    /// Its 99th percentile.
    pub p99_ns: Option<u64>,
    /// How late the generator was, of operations that ended since the last progress event.
    #[serde(default)]
    pub lateness: Lateness,
}

/// Dispatch lag beside the time that it is a part of. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Sum of the response times.
    pub time_ns: u64,
    /// Sum of the dispatch lags in them.
    pub lag_ns: u64,
    /// The greatest dispatch lag.
    pub max_ns: u64,
}

impl Lateness {
    /// Adds those of other operations.
    pub fn add(&mut self, other: Self) {
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.lag_ns = self.lag_ns.saturating_add(other.lag_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The part of the time that is the generator's; 0 where nothing ended.
    pub fn share(self) -> f64 {
        self.lag_ns as f64 / self.time_ns.max(1) as f64
    }
}

/// Counts of one closed window, by intended start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WindowCounts {
    /// Number of the window, from 0 at the start of the measure phase.
    pub window: u64,
    /// Due in it.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// The same for each operation of the mix, in its order.
    #[serde(default)]
    pub operations: Vec<OperationCounts>,
    /// The same for each journey, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<OperationCounts>,
}

/// Counts of one operation in one closed window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationCounts {
    /// Due in it.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
}

impl EventKind {
    /// Whether it says nothing new beside an event of another share of the same trial: every share reports the course
    /// of the trial, and a kind of failure needs no second example.
    pub fn repeats(&self, known: &Self) -> bool {
        match (known, self) {
            (Self::TrialStarted { .. }, Self::TrialStarted { .. })
            | (Self::Dated { .. }, Self::Dated { .. })
            | (Self::Interrupted, Self::Interrupted)
            | (Self::EndedEarly(_), Self::EndedEarly(_)) => true,
            (Self::PhaseEntered { phase: known }, Self::PhaseEntered { phase }) => known == phase,
            (
                Self::FailureSeen { operation: known, kind: known_kind, .. },
                Self::FailureSeen { operation, kind, .. },
            ) => (known, known_kind) == (operation, kind),
            (Self::LimitReached { limit: known, .. }, Self::LimitReached { limit, .. }) => {
                known == limit
            }
            _ => false,
        }
    }
}
