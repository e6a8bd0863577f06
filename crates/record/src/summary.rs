//! `summary.json`, format `proofload-summary/1`: what other programs rely on.
//!
//! Names are part of the contract. Durations are integer nanoseconds and end in `_ns`; rates are
//! per second; ratios lie in [0, 1]. The judgement that fills these fields is made in `judge`.

mod agent;
mod arm;
mod capacity;
mod comparison;
mod counted;
mod generator;
mod journey;
mod load;
mod part;
mod placement;
mod replay;
mod scaling;
mod scheduling;
mod system;
mod traces;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::MixNames;

pub use agent::{Agent, AgentFacts, ClockOffset};
pub use arm::Arm;
pub use capacity::*;
pub use comparison::{BlockPoint, Change, Comparison, Shares, Shift, Sides};
pub use counted::CountsFor;
pub use generator::{Generator, TailShare};
pub use journey::Journey;
pub use load::{Load, Model};
pub use part::Part;
pub use placement::Placement;
pub use replay::{Burstiness, Replay, ReplayScale};
pub use scaling::{Scaling, ScalingPoint};
pub use scheduling::{Scheduling, SchedulingPolicy, SchedulingReason};
pub use system::{Expectation, Observer, Process, System};
pub use traces::{FAILURES_LISTED, FAILURES_SHOWN, ListedOperation, SLOWEST_LISTED, Traces};

/// The `format` field of a summary written by this version.
pub const FORMAT: &str = "proofload-summary/1";

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Always [`FORMAT`].
    pub format: String,
    /// Whether this was a `--quick` run, which can never pass.
    pub rehearsal: bool,
    /// The answer, and why.
    pub verdict: Verdict,
    /// When, where and with what.
    pub run: Run,
    /// Combinations of levels, in the order of the plan.
    pub arms: Vec<Arm>,
    /// Judged criteria.
    pub criteria: Vec<Criterion>,
    /// Comparisons between levels.
    pub comparisons: Vec<Comparison>,
    /// Throughput against the size of closed loads, for each factor that sets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<Scaling>,
    /// Result of a search for capacity.
    pub capacity: Option<Capacity>,
    /// What the analysis noticed.
    pub findings: Vec<Finding>,
}

/// Result of a run or of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Every criterion was met.
    Pass,
    /// Nothing was asked: there was no criterion. Of a run alone.
    Measured,
    /// A criterion was missed.
    Fail,
    /// The data cannot decide.
    Inconclusive,
    /// The measurement was spoiled, so that it says nothing about the target.
    Invalid,
}

/// The verdict of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The one word.
    pub result: Judgement,
    /// Sentences that say why.
    pub reasons: Vec<String>,
}

/// Provenance of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Run {
    /// Name of the run folder.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seed of schedule and content.
    pub seed: u64,
    /// SHA-256 of the plan, hexadecimal.
    pub plan_hash: String,
    /// Version of proofload.
    pub version: String,
    /// Title of the experiment.
    pub title: String,
    /// Its question.
    pub question: Option<String>,
    /// The machine of the generator.
    pub machine: Machine,
    /// The command line, secrets removed.
    pub command: Vec<String>,
    /// Which share of the plan this is, such as `3/8`; none where it is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Shares that it was merged from; 0 where one machine performed it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shares: u32,
    /// Where a trace is shown: an address with `{trace_id}` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_url: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The machine of the generator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Logical processors.
    pub cores: u32,
    /// Kernel release.
    pub kernel: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The kernel's clock source.
    pub clock_source: String,
    /// Which processors workers and systems were pinned to.
    pub placement: Placement,
}

/// Whether a trial may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Nothing stands against it.
    Valid,
    /// Usable; see the reasons.
    Noted,
    /// Spoiled by the generator.
    Invalid,
    /// A required steady state was not there.
    NoSteadyState,
    /// The target could not keep up with the offered load.
    Overload,
}

/// One execution of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    /// Number in the run, from 1.
    pub index: u32,
    /// Block it belongs to, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub order: u32,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// May it be used?
    pub validity: Validity,
    /// Sentences behind the validity.
    pub reasons: Vec<String>,
    /// What it is counted for.
    #[serde(default)]
    pub counts_for: CountsFor,
    /// Whether it was executed at the same time as the other trial of its block, on the same machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duet: bool,
    /// Length of a window.
    pub window_ns: u64,
    /// What was offered.
    pub load: Load,
    /// How long each phase lasted.
    pub phases: Phases,
    /// Where every planned operation went.
    pub accounting: Accounting,
    /// Operations per second of the measure phase.
    pub rates: Rates,
    /// Operations begun and not finished.
    pub in_flight: InFlight,
    /// Each operation of the mix.
    pub operations: Vec<Operation>,
    /// All of them together, named `all`.
    pub total: Operation,
    /// Each journey of the mix. The operations are what they are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<Journey>,
    /// The instrument itself.
    pub generator: Generator,
    /// Processes under test.
    pub systems: Vec<System>,
    /// What arrived elsewhere.
    pub observers: Vec<Observer>,
    /// Kernel counters, as deltas over the measure phase.
    pub kernel: BTreeMap<String, i64>,
    /// What was seen of the first failure of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_failures: Vec<FirstFailure>,
    /// The machines that performed it together; empty where it was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// The operations that it lists one by one; none where it was not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// Whether it was as bursty as the log that it replayed; none where it replayed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

impl TrialSummary {
    /// Names of what its windows count.
    pub fn names(&self) -> MixNames {
        let operations = self.operations.iter().map(|one| one.name.clone());
        let journeys = self.journeys.iter().map(|one| one.whole.name.clone());
        MixNames { operations: operations.collect(), journeys: journeys.collect() }
    }
}

/// The first failure of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstFailure {
    /// Of this operation.
    pub operation: String,
    /// The kind.
    pub kind: String,
    /// What was seen of it, in words of the target or of ours.
    pub seen: String,
}

/// Length of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Phases {
    /// Until all users are there.
    pub ramp_up_ns: u64,
    /// Run but not judged.
    pub warm_up_ns: u64,
    /// Judged.
    pub measure_ns: u64,
    /// Waiting for what was in flight.
    pub drain_ns: u64,
}

/// `planned = started + missed`, `started = succeeded + failed + abandoned`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accounting {
    /// Operations due in the measure phase.
    pub planned: u64,
    /// Begun.
    pub started: u64,
    /// Never begun, because the in-flight cap was reached.
    pub missed: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended badly.
    pub failed: u64,
    /// Unfinished at the drain deadline.
    pub abandoned: u64,
}

/// Operations per second of the measure phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Planned.
    pub offered: f64,
    /// Begun.
    pub started: f64,
    /// Finished, well or badly.
    pub completed: f64,
    /// Finished well.
    pub goodput: f64,
}

/// Operations begun and not finished.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct InFlight {
    /// Time-weighted mean.
    pub mean: f64,
    /// Greatest number seen.
    pub max: u64,
}

/// One operation of the mix.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Operation {
    /// Its name; `all` for the total.
    pub name: String,
    /// Due in the measure phase.
    pub planned: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended badly.
    pub failed: u64,
    /// Unfinished at the drain deadline.
    pub abandoned: u64,
    /// Failed, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Answers, by status: a code or a name.
    pub statuses: BTreeMap<String, u64>,
    /// Intended start to complete answer; succeeded ones.
    pub response_time: Distribution,
    /// First byte out to last byte in; succeeded ones.
    pub service_time: Distribution,
    /// Waiting for a connection.
    pub queue_wait: Distribution,
    /// Response time with failed, abandoned and missed as slower than all others.
    pub outcome_time: Distribution,
    /// Connect, TLS, first byte, the protocol's own, and what parts of the target say of theirs.
    pub spans: BTreeMap<String, Distribution>,
    /// Which of the spans are times reported by the target itself; a part is listed after the part that contains it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Numbers read from answers.
    pub items: BTreeMap<String, Item>,
    /// Bytes written to the wire; over HTTP/2 those of bodies that were handed to the connection.
    pub bytes_sent: u64,
    /// Bytes read from the wire; over HTTP/2 those of bodies.
    pub bytes_received: u64,
}

/// A number read from each answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Item {
    /// Over all succeeded operations.
    pub sum: f64,
    /// Sum over the number of operations that carried it.
    pub per_operation_mean: f64,
    /// Response time by the power of two that the number lies in, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ItemRange>,
}

/// Response times of operations whose number lies in [`from`, `below`): facts about the sample, to 1/128.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ItemRange {
    /// A power of two, or 0.
    pub from: f64,
    /// The next power of two.
    pub below: f64,
    /// Succeeded operations.
    pub count: u64,
    /// Their median response time.
    pub p50_ns: u64,
    /// Their 95th percentile.
    pub p95_ns: u64,
}

/// What a histogram says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// Exact least value.
    pub min_ns: u64,
    /// Mean, from the exact sum, rounded to the nanosecond.
    pub mean_ns: u64,
    /// Exact greatest value.
    pub max_ns: u64,
    /// Standard deviation.
    pub stdev_ns: u64,
    /// Values beyond the range of the histogram.
    pub overflow: u64,
    /// φ at the median: 1 where windows vary as independent draws would.
    pub dispersion: f64,
    /// Quantiles with what may be claimed of them.
    pub quantiles: Vec<Quantile>,
}

/// One quantile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The fraction, in [0, 1].
    pub q: f64,
    /// A fact about this sample; `None` where it falls among operations that never succeeded.
    pub observed_ns: Option<u64>,
    /// Lower end of the 95 % interval.
    pub low_ns: Option<u64>,
    /// Upper end of the 95 % interval.
    pub high_ns: Option<u64>,
    /// Effective number of tail events, n(1−q)/φ.
    pub support: f64,
    /// What may be claimed.
    pub grade: Grade,
}

/// What may be claimed of a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Ten effective tail events or more.
    Supported,
    /// Three to ten, or fewer than 16 windows.
    Indicative,
    /// Fewer than three: a fact about this sample only.
    Refused,
}

/// A judged criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// As written.
    pub text: String,
    /// The arm it was judged on.
    pub arm: String,
    /// The operation it speaks of; `all` for the total.
    pub operation: String,
    /// The answer.
    pub result: Judgement,
    /// What was seen, in the unit of the criterion (nanoseconds, per second, ratio, count).
    pub observed: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// A quantile of trials whose steady state is only reported: judged on runs that take the same course, by how
    /// windows vary around its drift.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drifting: bool,
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A number is wrong or says something else than it seems to.
    Error,
    /// A claim is weak.
    Warning,
    /// Good to know.
    Info,
}

/// Something that the analysis noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its code in the table of findings.
    pub code: String,
    /// How serious it is.
    pub severity: Severity,
    /// Where: the arm.
    pub arm: Option<String>,
    /// Where: the trial.
    pub trial: Option<u32>,
    /// Where: the operation.
    pub operation: Option<String>,
    /// One sentence.
    pub claim: String,
    /// Numbers with their units in the name.
    pub evidence: BTreeMap<String, Value>,
    /// One thing to do.
    pub advice: String,
}

impl Operation {
    /// Begun, whatever became of it.
    pub fn started(&self) -> u64 {
        self.succeeded + self.failed + self.abandoned
    }

    /// Planned and never begun.
    pub fn missed(&self) -> u64 {
        self.planned.saturating_sub(self.started())
    }
}
