//! The result of a search for capacity.

use serde::{Deserialize, Serialize};

/// The highest rate that meets the criteria, as an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Rate that was shown to meet the criteria and, where asked for, confirmed.
    pub low: Option<f64>,
    /// Least rate that was shown not to meet them.
    pub high: Option<f64>,
    /// Goodput at the low end, mean over its trials.
    pub achieved: Option<f64>,
    /// The first criterion that is not met at the high end; `system` where that ended under the load, `generator`
    /// where that is the limit.
    pub limited_by: Option<String>,
    /// What is seen at the high end.
    pub symptom: Option<String>,
    /// Every trial, in the order of execution.
    pub steps: Vec<CapacityStep>,
    /// How the search ended.
    pub ending: CapacityEnding,
    /// Why a search that has both ends brought them no nearer to each other than they are; none where they are as near as
    /// was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_further: Option<NoFurther>,
    /// What is searched for: the texts of the criteria.
    pub criteria: Vec<String>,
    /// Least rate that was not shown to meet the criteria; between it and `high` trials cannot decide.
    pub not_shown: Option<f64>,
    /// Greatest ratio of the ends that was asked for, less 1.
    pub precision: f64,
    /// Fresh trials at the low end.
    pub confirmation: Option<Confirmation>,
    /// Whether a rate passed above one that did not.
    pub in_disorder: bool,
    /// The Universal Scalability Law, with six different rates or more.
    pub scalability: Option<Scalability>,
    /// Rate with the most throughput per mean response time: Kleinrock's power point.
    pub power_point: Option<f64>,
    /// Ascending and descending steps after the search, where asked for.
    pub stairs: Option<Stairs>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityEnding {
    /// Both ends are known.
    Bracketed,
    /// The generator could not make the rate above the low end.
    GeneratorLimited,
    /// Trial after trial was spoiled, at the first rate, at one that the generator had made before, or because
    /// something other than the system ended.
    Spoiled,
    /// The greatest rate allowed still meets the criteria.
    LimitReached,
    /// No rate meets them.
    NothingPasses,
    /// Too many trials.
    Exhausted,
    /// A trial could not be carried out.
    NotExecuted,
    /// It is not at its end: the user stopped it, or it was killed.
    Stopped,
}

/// Why the ends were brought no nearer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoFurther {
    /// A rate between them passed in one trial and not in another.
    Contested,
    /// All trials were made that were to bring them together.
    Spent,
}

/// One trial of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// Offered, per second.
    pub rate: f64,
    /// Length of the measure phase that was planned.
    pub duration_ns: u64,
    /// What came of it.
    pub result: StepResult,
    /// Goodput.
    pub achieved: f64,
    /// Median of the outcome time.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the outcome time; none where it falls among operations that never succeeded.
    pub p99_ns: Option<u64>,
    /// Share of planned operations that did not succeed.
    pub failed_ratio: f64,
    /// Number of the trial.
    pub trial: u32,
    /// Why it was made: `expand`, `narrow`, `retest`, `confirm`, `check`.
    pub purpose: String,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepResult {
    /// The criteria are met.
    Pass,
    /// One is not.
    Fail,
    /// The trial cannot tell.
    Undecided,
    /// The generator spoiled it, or something other than the system ended.
    Invalid,
    /// The user stopped it.
    Stopped,
}

/// Fresh trials at the low end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Met the criteria.
    pub passed: u32,
    /// Made.
    pub of: u32,
}

/// The Universal Scalability Law, fitted to mean operations in flight and throughput of each rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scalability {
    /// Serial share.
    pub sigma: f64,
    /// Lower end of its 95 % interval.
    pub sigma_low: f64,
    /// Upper end.
    pub sigma_high: f64,
    /// Crosstalk.
    pub kappa: f64,
    /// Lower end of its 95 % interval.
    pub kappa_low: f64,
    /// Upper end.
    pub kappa_high: f64,
    /// Throughput of one operation at a time, per second.
    pub lambda: f64,
    /// Where throughput is greatest; none where that may not be told.
    pub peak: Option<ScalabilityPeak>,
}

/// Where throughput is greatest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalabilityPeak {
    /// Operations in flight.
    pub concurrency: f64,
    /// Operations a second.
    pub throughput: f64,
}

/// One trial that goes up in steps and down again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stairs {
    /// Number of the trial.
    pub trial: u32,
    /// Length of each step.
    pub step_ns: u64,
    /// In order of rate.
    pub steps: Vec<Stair>,
    /// From the end of the highest step until response times were back; none if they never were.
    pub recovery_ns: Option<u64>,
    /// Whether they came back.
    pub recovered: bool,
}

/// One rate of the stairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stair {
    /// Per second.
    pub rate: f64,
    /// 99th percentile on the way up.
    pub up_p99_ns: Option<u64>,
    /// On the way down.
    pub down_p99_ns: Option<u64>,
    /// Whether the two differ by more than chance makes them.
    pub differs: bool,
}
