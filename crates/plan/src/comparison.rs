//! Comparisons between levels of a factor, as declared.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

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
    /// For each metric with one: the ratio within which two levels count as equal.
    pub margins: BTreeMap<String, f64>,
}
