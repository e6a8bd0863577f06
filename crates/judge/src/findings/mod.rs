//! What the analysis notices about a trial, an arm or a run: one table, one row a finding.
//!
//! Effects decide, resources explain: a row about a resource speaks only where lag, missed
//! operations or a failed plan show that something was wrong, or where nothing could show it, as in a closed loop.
//! Not here: whether a trial may be used
//! (see [`crate::summarize`]) and how findings look (see `pages`).
//!
//! In reading order: `check` asks the rows; [`case`] is what those about a trial look at, with [`shape`] and [`over_time`], which keep what histograms
//! and windows give away. The rows stand in `generator` and `load` (ourselves and what was offered), `target`,
//! `distribution`, `in_time`, `steady` and `work` (what came back), `kernel`, `signatures`, `under_test` and `parts`
//! (causes and places), `level_adds` and `level_in_part` (of what is `added`) and `bound_apart` (of each `pair` of
//! arms), `race`, `of_run` and `scaling` (what needs several trials), `design` (comparisons), `noise` (A/A pairs),
//! `criterion`, `capacity` (a search), `all_failed` and `course` (how the run went). `alike` tells once what several show.

mod added;
mod alike;
pub mod all_failed;
mod bound_apart;
pub(crate) mod capacity;
pub mod case;
mod check;
pub(crate) mod course;
pub(crate) mod criterion;
pub(crate) mod design;
mod distribution;
mod generator;
mod in_time;
mod kernel;
mod level_adds;
mod level_in_part;
mod load;
pub(crate) mod noise;
mod of_run;
pub mod over_time;
mod pair;
mod parts;
mod race;
mod scaling;
pub mod shape;
mod signatures;
mod steady;
mod target;
mod under_test;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use plan::plan::{Plan, TrialPlan};
use record::summary::{Finding, Severity};
use serde_json::Value;

pub use alike::{Alike, alike};
pub use all_failed::ALL_FAILED;
pub use case::{Case, Facts};
use check::Check;
pub(crate) use check::{Subject, findings};
pub use design::{place, plain};
pub(crate) use load::waited_share;
pub(crate) use of_run::Whole;
pub use over_time::OverTime;
pub use shape::Shape;
pub(crate) use steady::departure;

/// Code of the finding that the user stopped the run.
pub const INTERRUPTED: &str = "interrupted";
/// Code of the finding that a process under test ended.
pub const PROCESS_DIED: &str = "process-died";
/// Its evidence of what the process was there for.
pub(crate) const ROLE: &str = "role";
/// Code of the finding that a criterion could not be decided.
pub const UNDECIDED_CRITERION: &str = "undecided-criterion";
/// Code of the finding that a trial could not begin, which ended the run.
pub const NOT_EXECUTED: &str = "trial-not-executed";
/// Code of the finding that a block was executed again.
pub const REPEATED: &str = "block-repeated";
/// Code of the finding that the experiment did something to its own processes.
pub const PLANNED_FAULTS: &str = "planned-faults";
/// Code of the finding that our own numbers contradict each other.
pub const AUDIT_CONTRADICTION: &str = "audit-contradiction";

/// Code of the finding that a closed load waited for its processor.
pub(crate) const CROWDED: &str = "closed-load-crowded";
/// Code of the finding that the system under test waited for its processors.
pub(crate) const SYSTEM_CROWDED: &str = "system-crowded";

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Stable name.
    pub code: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// Which number of its evidence says how clearly a trial shows it, by the end of its name; `None` where the first
    /// trial stands for all.
    clearest: Option<&'static str>,
    /// What it says, in a few words.
    pub title: &'static str,
    /// What it means, for `proofload explain`.
    pub explain: &'static str,
    /// Looks for it.
    check: Check,
}

/// What a row noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct Noticed {
    arm: Option<String>,
    trial: Option<u32>,
    operation: Option<String>,
    claim: String,
    evidence: BTreeMap<String, Value>,
    advice: String,
}

/// Every finding, most serious first.
pub const TABLE: &[Row] = &[
    generator::AUDIT,
    generator::LATE,
    load::PROCESS_DIED,
    course::NOT_EXECUTED_ROW,
    all_failed::ALL_FAILED_ROW,
    load::OVERLOAD,
    capacity::METASTABLE,
    under_test::NOT_EFFECTIVE,
    load::INTERRUPTED_ROW,
    course::REPEATED_ROW,
    criterion::FAIL_FAST,
    criterion::UNDECIDED,
    criterion::MISSED_WINDOWS,
    design::UNDECIDED_COMPARISON,
    design::DOSE_ORDER,
    capacity::HYSTERESIS,
    capacity::GENERATOR_LIMITED,
    steady::GROWING_BACKLOG,
    steady::WARM_UP_TOO_SHORT,
    steady::DRIFT,
    steady::LEVEL_SHIFT,
    steady::UNEVEN,
    generator::CROWDED_ROW,
    under_test::CROWDED_ROW,
    generator::CPU,
    generator::RUN_QUEUE,
    generator::ASLEEP,
    generator::STEAL,
    generator::THROTTLED,
    load::THINK_TIME_CEILING,
    generator::BOUND,
    bound_apart::BOUND_APART,
    load::POOL_LIMITED,
    target::FAILURES,
    kernel::ACCEPT_QUEUE,
    kernel::SYN_QUEUE,
    kernel::LISTEN_DROPS,
    signatures::SYN_RETRANSMISSION,
    signatures::REQUEST_RETRIES,
    kernel::RETRANSMISSIONS,
    signatures::RETRANSMISSION_TIMEOUT,
    kernel::RESETS,
    kernel::ABORTS,
    kernel::RECEIVE_DROPS,
    signatures::QUOTA,
    in_time::PERIODIC,
    in_time::BURST,
    in_time::AT_THE_END,
    distribution::BIMODAL,
    distribution::MEAN,
    distribution::SURVIVORS,
    distribution::GOODPUT,
    distribution::STRAGGLERS,
    scaling::CLIFF,
    parts::OUTSIDE,
    level_adds::LEVEL_ADDS,
    level_in_part::LEVEL_IN_PART,
    work::ZERO_WORK,
    work::NOT_ARRIVED,
    of_run::MEMORY,
    of_run::CONSTANT_FAILURES,
    load::IDLE,
    load::SHORT,
    target::STATUS_ONLY,
    signatures::DELAYED_ACK,
    signatures::TIME_OUTS,
    signatures::COMB,
    work::GROWS,
    under_test::PLANNED_FAULTS,
    under_test::CPU_BOUND,
    parts::IN_ONE,
    scaling::NO_SCALING,
    distribution::ALONE,
    work::FEW_REQUESTS,
    under_test::SHARED_MACHINE,
    race::RACE,
    of_run::FEW_TRIALS,
    capacity::DISORDER,
    course::RESUMED_ROW,
    criterion::FAILED_ALONE,
    criterion::ADAPTIVE,
    noise::NOISE,
    noise::REPEATS_WORSE,
    design::DUET,
];

/// The trials of closed loads that waited for their processor, by number.
pub(crate) fn crowded(findings: &[Finding]) -> BTreeSet<u32> {
    trials_with(findings, CROWDED)
}

/// The trials with a finding of this code, by number.
pub(crate) fn trials_with(findings: &[Finding], code: &str) -> BTreeSet<u32> {
    findings.iter().filter(|one| one.code == code).filter_map(|one| one.trial).collect()
}

/// The row with this code.
pub fn row(code: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.code == code)
}

/// The finding that the run ended before its last trial, which only its user can bring about.
pub(crate) fn not_carried_out(executed: usize, planned: usize) -> Option<Finding> {
    let noticed = Noticed::new(
        format!("the run was stopped: {executed} of {planned} planned trials were executed"),
        "go on with `proofload run --resume` and the run's folder",
    )
    .with("executed", executed)
    .with("planned", planned);
    (executed < planned).then(|| load::INTERRUPTED_ROW.found(noticed))
}

impl Row {
    fn found(&self, noticed: Noticed) -> Finding {
        self.assert_clear(&noticed.evidence);
        Finding {
            code: self.code.to_owned(),
            severity: self.severity,
            arm: noticed.arm,
            trial: noticed.trial,
            operation: noticed.operation,
            claim: noticed.claim,
            evidence: noticed.evidence,
            advice: noticed.advice,
        }
    }

    /// In debug builds, and so in every test: whatever is found has the number that says how clear it is.
    fn assert_clear(&self, evidence: &BTreeMap<String, Value>) {
        let is_there = |name| evidence.keys().any(|key| key.ends_with(name));
        debug_assert!(self.clearest.is_none_or(is_there), "{} in {evidence:?}", self.code);
    }
}

impl Noticed {
    fn new(claim: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            arm: None,
            trial: None,
            operation: None,
            claim: claim.into(),
            evidence: BTreeMap::new(),
            advice: advice.into(),
        }
    }

    /// It is about one arm.
    fn in_arm(mut self, arm: &str) -> Self {
        self.arm = Some(arm.to_owned());
        self
    }

    /// It is about one trial.
    fn in_trial(self, arm: &str, trial: u32) -> Self {
        Self { trial: Some(trial), ..self.in_arm(arm) }
    }

    /// It is about this trial of the plan, carried out or not.
    fn planned_as(self, plan: &Plan, trial: &TrialPlan) -> Self {
        let arm = plan.arms.get(trial.arm).map(|arm| arm.name.clone());
        Self { arm, trial: Some(trial.index), ..self }
    }

    /// It is about one operation of the mix.
    fn about(mut self, operation: &str) -> Self {
        self.operation = Some(operation.to_owned());
        self
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests;
