//! Comparisons between levels of a factor, as declared.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What may be compared: rates, the share of failures, and times.
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
    /// The factor whose levels are held against each other.
    pub factor: String,
    /// The level that the others are held against.
    pub baseline: Value,
    /// The operation it looks at; `None` for all together.
    pub operation: Option<String>,
    /// What is compared: `goodput`, `mean`, `p99` …
    pub metrics: Vec<String>,
    /// For each metric with one: within this ratio two levels count as equal (0.05 is 5 %). Of failures
    /// it is a difference of shares.
    pub margins: BTreeMap<String, f64>,
}
