//! A level held against another: the part of the summary that answers "did it change?".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer to a comparison, in one of three words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// There is a difference.
    Changed,
    /// Whatever difference there is is smaller than the margin.
    Equivalent,
    /// The data say neither.
    Undecided,
}

/// One level held against the baseline, in one metric.
///
/// Ratios are candidate over baseline. Where failures are compared there is a `difference` of shares
/// instead, because the ratio to a share of 0 says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The factor; `run` where stored runs are compared.
    pub factor: String,
    /// Levels of the other factors.
    pub stratum: BTreeMap<String, Value>,
    /// The level that others are held against.
    pub baseline: Value,
    /// The level that is held against it.
    pub candidate: Value,
    /// The operation; `all` for all together.
    pub operation: String,
    /// `goodput`, `failed`, `mean`, `p99` …
    pub metric: String,
    /// What the metric is taken from: `rates`, `outcome_time`, `service_time` …
    pub of: String,
    /// Geometric mean over the blocks; between runs, the Hodges–Lehmann shift.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// Hodges–Lehmann estimate of the ratio over the blocks.
    pub robust_ratio: Option<f64>,
    /// Of failures: shares, candidate less baseline.
    pub difference: Option<Shares>,
    /// Two-sided, corrected by Holm's rule for all comparisons of the run.
    pub p_value: Option<f64>,
    /// The same before correction.
    pub p_raw: Option<f64>,
    /// Within this ratio of each other, levels count as equal: 0.05 is 5 %. Of failures: a share.
    pub margin: f64,
    /// The answer.
    pub result: Change,
    /// Whether the whole interval lies beyond the margin, or within it.
    pub size_certain: bool,
    /// Blocks in which both trials could be used.
    pub blocks: u32,
    /// How many would decide; `None` where it is decided, or beyond 10,000.
    pub needs_blocks: Option<u64>,
    /// The ratio that so many blocks see four times in five.
    pub detectable: Option<f64>,
    /// Blocks in which a trial could not be used.
    pub left_out: Vec<u32>,
    /// Trials on each side, where stored runs are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<Sides>,
    /// What stands in the way of an answer, if it is not the spread.
    pub note: Option<String>,
    /// Each block.
    pub points: Vec<BlockPoint>,
    /// Of times: how each quantile differs.
    pub shift: Vec<Shift>,
}

/// A difference of two shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// What was seen.
    pub observed: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
}

/// How many trials each side has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// Of the baseline.
    pub baseline: u32,
    /// Of the candidate.
    pub candidate: u32,
}

/// One block. Values are nanoseconds, per second, or shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockPoint {
    /// Its number, from 1.
    pub block: u32,
    /// Candidate over baseline.
    pub ratio: Option<f64>,
    /// The baseline's value.
    pub baseline: f64,
    /// The candidate's value.
    pub candidate: f64,
}

/// One quantile of the shift function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The fraction, in [0, 1].
    pub q: f64,
    /// Candidate over baseline.
    pub ratio: f64,
    /// Lower end of its 95 % band.
    pub low: Option<f64>,
    /// Upper end of its 95 % band.
    pub high: Option<f64>,
    /// Two-sided, corrected by Hochberg's rule for the quantiles shown.
    pub p_value: f64,
}
