//! What was started for a trial, and what it said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Distribution;

/// A system, service or observer that we started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct System {
    /// Its name in the experiment.
    pub name: String,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Version, if it says one.
    pub version: Option<String>,
    /// Configuration in force, as read back from it.
    pub effective: BTreeMap<String, Value>,
}

/// A process under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Its id.
    pub pid: u32,
    /// CPU time in the measure phase.
    pub cpu_ns: u64,
    /// Time in the measure phase in which its threads were ready to run and had no processor, over those threads that
    /// lived at its end; 0 in records of older versions.
    #[serde(default)]
    pub run_queue_ns: u64,
    /// Greatest resident memory.
    pub rss_peak_bytes: u64,
}

/// What an observer counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observer {
    /// Its name in the experiment.
    pub name: String,
    /// What `received` counts, in the plural and in the observer's words, such as `answers judged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
    /// Arrived.
    pub received: u64,
    /// Arrived more than once.
    pub duplicates: u64,
    /// Arrived without having been sent.
    pub unexpected: u64,
    /// Sent, and not arrived.
    pub lost: u64,
    /// From sending to arrival.
    pub delivery_time: Option<Distribution>,
    /// What the experiment expects, and whether it holds.
    pub expect: Option<Expectation>,
    /// Anything else it says.
    pub detail: BTreeMap<String, Value>,
    /// Why it could not be asked; then it counts nothing, and what is expected of it cannot be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
}

/// An observer's expectation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// As written in the experiment.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// What the two sides of its first comparison came to; none where a term of it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<[f64; 2]>,
    /// Why it could not be judged, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}
