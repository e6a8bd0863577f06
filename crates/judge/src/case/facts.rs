//! A trial or a run as input to judgements: its summary, and the facts that a summary leaves out.

use std::collections::BTreeMap;

use plan::comparison::Comparison;
use plan::load::{Model, Think};
use plan::operation::Operation;
use plan::schedule::nanos;
use plan::target::Target;
use record::summary::{self, Arm, Machine, TrialSummary};
use record::{EarlyEnd, EndReason, FaultDone, PoolFacts, Role};
use serde_json::Value;

use super::over_time::OverTime;
use super::shape::Shape;
use super::steadiness::SteadyStateTest;

/// One trial as input to judgements.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Name of its arm.
    pub arm: &'a str,
    /// Its numbers.
    pub trial: &'a TrialSummary,
    /// The facts that its summary leaves out.
    pub facts: &'a Facts,
}

/// A run as input to judgements.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    /// Every arm, in the order of the plan.
    pub arms: &'a [Arm],
    /// Where they were executed.
    pub machine: &'a Machine,
    /// The comparisons of the plan.
    pub comparisons: &'a [Comparison],
    /// Number of comparisons: one for each level and metric.
    pub questions: usize,
}

/// Facts of a trial that its summary leaves out. Ratios lie in [0, 1].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// Share of operations released later than max(median response time, 1 ms).
    pub late_ratio: f64,
    /// Mean think time of a users load.
    pub think_mean_ns: Option<u64>,
    /// The connection pool.
    pub pool: PoolFacts,
    /// Share of the time with CPU pressure on some tasks.
    pub pressure_ratio: f64,
    /// Time-out of an operation.
    pub timeout_ns: u64,
    /// Raw samples that were not kept.
    pub samples_dropped: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Why it ended early.
    pub died: Option<String>,
    /// The role of the process that ended.
    pub died_as: Option<Role>,
    /// When that was noticed, from the start of the measure phase.
    pub died_at_ns: Option<i64>,
    /// The last lines that the process printed.
    pub last_words: Vec<String>,
    /// The planned faults that were injected.
    pub faults: Vec<FaultDone>,
    /// Why the run ended the measure phase early.
    pub early_end: Option<EarlyEnd>,
    /// Confidence of its intervals.
    pub confidence: f64,
    /// Operations whose answers are judged by their status alone.
    pub status_only: Vec<String>,
    /// Operations that cycle through few rows and vary in nothing else, with the number of rows.
    pub few_requests: Vec<(String, usize)>,
    /// Operations that are steps of journeys.
    pub steps: Vec<String>,
    /// Whether there was a steady state.
    pub steady: SteadyStateTest,
    /// Whether targets are on this machine, so that its kernel's counters hold both sides.
    pub target_is_local: bool,
    /// Processors left to processes that the run starts.
    pub system_cores: usize,
    /// Whether the workers' processors are theirs alone, as far as the run places processes.
    pub workers_alone: bool,
    /// Settings that the plan declares for the system under test.
    pub declared: BTreeMap<String, Value>,
    /// Patterns in the fine histograms.
    pub shape: Shape,
    /// Patterns over the windows.
    pub over_time: OverTime,
    /// The consistency rules that our own numbers break, with the contradiction.
    pub contradictions: Vec<String>,
}

impl Facts {
    /// Facts of an executed trial and of the arm that planned it.
    pub fn of(trial: &record::TrialFacts, arm: &plan::plan::Arm) -> Self {
        let total = trial.totals.total();
        let limit = total.response_time.quantile(0.5).unwrap_or(0).max(NOTICEABLE_LAG_NS);
        let lag = &trial.totals.dispatch_lag;
        Self {
            late_ratio: lag.count_above(limit) as f64 / (lag.count().max(1)) as f64,
            think_mean_ns: trial.think_mean_ns.or_else(|| think_mean(&arm.load.model)),
            pool: trial.pool,
            pressure_ratio: trial.generator.pressure_ratio,
            timeout_ns: trial.timeout_ns,
            samples_dropped: trial.samples_dropped,
            interrupted: trial.interrupted,
            died: trial.died.clone(),
            died_as: trial.died_as,
            died_at_ns: trial.died_at_ns,
            last_words: trial.last_words.clone(),
            faults: trial.faults.clone(),
            early_end: trial.early_end.clone(),
            confidence: trial.confidence,
            status_only: status_only(&arm.operations),
            few_requests: few_requests(arm),
            steps: steps(&arm.operations),
            steady: SteadyStateTest::default(),
            target_is_local: arm.targets.iter().all(is_local),
            system_cores: trial.generator.placement.systems.len(),
            workers_alone: trial.generator.placement.workers_alone(),
            declared: arm.system.iter().flat_map(|system| system.set.clone()).collect(),
            shape: Shape::default(),
            over_time: OverTime::default(),
            contradictions: Vec::new(),
        }
    }

    /// Share of operations of an open load that waited for a connection; `None` up to one in a thousand.
    pub(crate) fn waited_share(&self, trial: &TrialSummary) -> Option<f64> {
        const NOTED: f64 = 0.001;
        let share = self.pool.waited as f64 / trial.accounting.started.max(1) as f64;
        (trial.load.model == summary::Model::Open && share > NOTED).then_some(share)
    }
}

/// Whether a measure phase ended because the run gave up: a criterion was lost (`--fail-fast`), or every operation
/// failed.
pub fn gave_up(early_end: Option<&EarlyEnd>) -> bool {
    early_end
        .is_some_and(|early| matches!(early.reason, EndReason::FailFast | EndReason::AllFailed))
}

/// Lag below this cannot change a result in a way that matters.
const NOTICEABLE_LAG_NS: u64 = 1_000_000;

fn think_mean(model: &Model) -> Option<u64> {
    let Model::Users { think, .. } = model else { return None };
    let mean = match *think {
        Think::Fixed { pause } => pause,
        Think::Uniform { low, high } => (low + high) / 2,
        Think::Exponential { mean } => mean,
    };
    Some(nanos(mean))
}

/// Operations whose answers carry more than a status, but are checked by status alone. An HTTP answer has content;
/// the answer of a mail server to a message is a status only.
fn status_only(operations: &[Operation]) -> Vec<String> {
    let with_content =
        operations.iter().filter(|one| matches!(one.protocol.as_str(), "http" | "http2"));
    let unchecked = with_content.filter(|operation| {
        let mut entries = operation.expect.iter().flat_map(|table| &table.entries);
        entries.all(|entry| entry.key == "status")
    });
    unchecked.map(|operation| operation.name.clone()).collect()
}

/// Operations that cycle through so few rows that a cache holds all the answers. Not an operation with another
/// placeholder, which sends something new each time, not one without rows, which repeats one request on purpose, and not
/// a recorded list, whose requests come as often as they came.
fn few_requests(arm: &plan::plan::Arm) -> Vec<(String, usize)> {
    const MANY: usize = 100;
    let is_recorded = |one: &Operation| one.requests.is_some() && arm.load.names_requests();
    let few = arm.operations.iter().filter(|one| (1..MANY).contains(&one.row_count()));
    let few = few.filter(|one| !is_recorded(one));
    let alike = few.filter(|one| {
        let text = one.table.to_json().to_string().replace("{{{{", "");
        text.split("{{").skip(1).all(|rest| rest.trim_start().starts_with("row."))
    });
    alike.map(|one| (one.name.clone(), one.row_count())).collect()
}

fn steps(operations: &[Operation]) -> Vec<String> {
    operations.iter().filter(|one| one.is_step).map(|one| one.name.clone()).collect()
}

/// A placeholder is replaced by the address of a process that the run starts on this machine.
fn is_local(target: &Target) -> bool {
    const HERE: [&str; 4] = ["localhost", "127.", "[::1]", "{"];
    let address = target.connect_to.as_deref().unwrap_or(&target.url);
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    target.channel().is_some()
        || target.unix_socket.is_some()
        || HERE.iter().any(|here| host.starts_with(here))
}
