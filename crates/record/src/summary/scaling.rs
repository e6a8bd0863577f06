//! Throughput of closed loads of different sizes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scalability;

/// Arms that differ in how many operations they keep under way, and in nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The factor that they differ in.
    pub factor: String,
    /// Levels of the other factors.
    pub stratum: BTreeMap<String, Value>,
    /// What is counted: `connections` or `users`.
    pub actors: String,
    /// By concurrency, ascending.
    pub points: Vec<ScalingPoint>,
    /// The Universal Scalability Law, with four levels and six trials or more.
    pub law: Option<Scalability>,
}

/// One level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// Connections or users.
    pub concurrency: u32,
    /// Trials behind it.
    pub trials: u32,
    /// Completed well, operations a second, mean over the trials.
    pub goodput: f64,
    /// Least of the trials.
    pub least: f64,
    /// Greatest of the trials.
    pub greatest: f64,
    /// Mean service time, over all operations of the trials.
    pub service_mean_ns: u64,
    /// Whether a worker of the generator had no time left in one of the trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generator_bound: bool,
    /// Whether the generator waited for its processor in one of the trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crowded: bool,
}
