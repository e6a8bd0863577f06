//! Comparisons between levels of a factor, as declared.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Metrics that can be compared: rates, the share of failures, and times.
pub const METRICS: [&str; 11] = [
    "goodput",
    "completed",
    "failed",
    "mean",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "p99.99",
];

/// One declared comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The factor whose levels are compared.
    pub factor: String,
    /// The level that the others are compared with.
    pub baseline: Value,
    /// The operation; `None` for all together.
    pub operation: Option<String>,
    /// The compared metrics: `goodput`, `mean`, `p99` …
    pub metrics: Vec<String>,
    /// Margins by metric: two levels within this ratio count as equal (0.05 is 5 %). For failures the margin is a
    /// difference of shares.
    pub margins: BTreeMap<String, f64>,
}
