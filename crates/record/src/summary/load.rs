//! The load of a trial.

use serde::{Deserialize, Serialize};

use crate::WindowSpan;

/// Which model of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Starts are independent of answers.
    Open,
    /// Each connection starts when it has its answer.
    Closed,
    /// Closed, with think time.
    Users,
}

impl Model {
    /// The time by which an operation of such a load is judged.
    pub fn judged_by(self) -> WindowSpan {
        match self {
            Self::Open => WindowSpan::ResponseTime,
            Self::Closed | Self::Users => WindowSpan::ServiceTime,
        }
    }
}

/// What was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Which model.
    pub model: Model,
    /// Arrival process of an open load: `constant`, `poisson`, `stages`, `burst`, `replay`.
    pub arrivals: Option<String>,
    /// Arrivals of a replay for each recorded one, if it was thinned (below 1) or superposed (above 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Mean planned rate of an open load.
    pub offered_rate: Option<f64>,
    /// Connections: the number of a closed load, the limit of an open one.
    pub connections: u32,
    /// Operations that each of them carries at a time, where those are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Users of a users load.
    pub users: Option<u32>,
    /// Generator threads.
    pub workers: u32,
}
