//! What a coordinator keeps in the run folder, so that another one can take over when it has died.

use engine::clock::monotonic;
use engine::selfcheck;
use record::summary::ClockOffset;
use serde::{Deserialize, Serialize};

use crate::protocol::AgentInfo;

/// A fleet at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetState {
    /// Mark of the run.
    pub run: String,
    /// Name of the fleet.
    pub fleet: String,
    /// In the order of shares.
    pub agents: Vec<AgentInfo>,
    /// Coordinators so far.
    pub coordinators: u32,
    /// Attempts to perform trials so far.
    pub attempts: u32,
    /// The last attempt, if its load has begun.
    pub begun: Option<Begun>,
}

impl FleetState {
    /// Reads what a coordinator has kept; `None` if it is not that.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Trials whose load has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Their numbers.
    pub trials: Vec<u32>,
    /// Start of the load on CLOCK_MONOTONIC of the coordinator.
    pub start: u64,
    /// The same instant by the clock of each agent.
    pub at: Vec<u64>,
    /// What was known of those clocks then.
    pub offsets: Vec<ClockOffset>,
    /// The coordinator's machine since it was started: CLOCK_MONOTONIC begins anew with it.
    pub boot_id: String,
    /// Sequence number of the first report that may be about it.
    pub first_report: u64,
}

impl Begun {
    /// Whether `start` is an instant of the clock of this process.
    pub fn is_of_this_clock(&self) -> bool {
        self.boot_id == selfcheck::identity().boot_id && self.start < monotonic()
    }
}
