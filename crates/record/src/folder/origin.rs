//! The request that a run came from, so that the run can be resumed.

use serde::{Deserialize, Serialize};

/// The content of `origin.json`. Secrets stand in it as `{{env.NAME}}`, and are asked of the
/// environment again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// Version of proofload.
    pub version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// SHA-256 of the plan, hexadecimal.
    pub plan_hash: String,
    /// The command line, secrets removed.
    pub command: Vec<String>,
    /// The folder in which it was given; paths count from there.
    pub folder: String,
    /// The run as requested.
    pub asked: RunRequest,
    /// Whether raw samples are kept.
    pub samples: bool,
    /// Whether workers were to have ordinary scheduling (`--no-realtime`).
    #[serde(default)]
    pub no_realtime: bool,
    /// Which share of the plan, such as `3/8`; none for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Agents that performed it together; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub agents: u32,
    /// Name of their fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The run as requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Name of the experiment's file.
    pub experiment: String,
    /// The text itself where there is no file: what a URL and flags stand for.
    pub text: Option<String>,
    /// `--set`, each.
    pub overrides: Vec<String>,
    /// `--criterion`, each.
    pub criteria: Vec<String>,
    /// The seed in force, wherever it came from.
    pub seed: u64,
    /// `--quick`.
    pub quick: bool,
    /// `--fail-fast`.
    pub fail_fast: bool,
    /// `--keep-going`.
    #[serde(default)]
    pub keep_going: bool,
    /// `--adaptive`.
    pub adaptive: bool,
    /// `--warm-up`, as written.
    pub warm_up: Option<String>,
    /// `--workers`, as written.
    pub workers: Option<String>,
    /// `--traceparent`, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// `--trace-url`, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_url: Option<String>,
    /// Whether each arm is an experiment of its own, without comparisons: a search.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_arm_alone: bool,
}
