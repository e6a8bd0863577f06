//! An arm: one combination of levels, with the trials that executed it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TrialSummary;

/// One combination of levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name, `all` when there are no factors.
    pub name: String,
    /// Level of each factor: its value, or its name where the experiment gives it one.
    pub factors: BTreeMap<String, Value>,
    /// Values of the levels that have a name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Its trials in order of execution.
    pub trials: Vec<TrialSummary>,
}
