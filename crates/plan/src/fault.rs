//! What is done on purpose to a process of the trial while the load runs.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::format_duration;

/// One blow, and whether what was hit comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// A service, an observer, or `system`.
    pub process: String,
    /// When, from the start of the measure phase.
    pub at: Duration,
    /// What is done.
    pub action: Action,
    /// After how long it is undone: started again where it was, or continued. `None`: not.
    pub undone_after: Option<Duration>,
}

/// What is done to a process, its descendants included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// SIGKILL.
    Kill,
    /// SIGTERM; what is still there when it is to be started again is killed.
    Stop,
    /// SIGSTOP.
    Freeze,
    /// Started again with the same ports and the same folder.
    Start,
    /// SIGCONT.
    Continue,
}

impl Action {
    /// What undoes it.
    pub fn undone_by(self) -> Self {
        match self {
            Self::Freeze | Self::Continue => Self::Continue,
            Self::Kill | Self::Stop | Self::Start => Self::Start,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Freeze => "freeze",
            Self::Start => "start",
            Self::Continue => "continue",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.action, self.process, format_duration(self.at))?;
        match self.undone_after {
            Some(after) => {
                let back = format_duration(self.at + after);
                write!(f, ", {} at {back}", self.action.undone_by())
            }
            None => Ok(()),
        }
    }
}

/// One thing to be done at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When, from the start of the measure phase.
    pub at: Duration,
    /// To whom.
    pub process: String,
    /// What.
    pub action: Action,
}

/// Blows and what undoes them, in order of time.
pub fn steps(faults: &[Fault]) -> Vec<Step> {
    let mut steps = Vec::new();
    for fault in faults {
        let step = |at, action| Step { at, process: fault.process.clone(), action };
        steps.push(step(fault.at, fault.action));
        if let Some(after) = fault.undone_after {
            steps.push(step(fault.at + after, fault.action.undone_by()));
        }
    }
    steps.sort_by_key(|step| step.at);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undone_is_undone_in_order_of_time() {
        let fault = |process: &str, at, action, undone_after: Option<u64>| Fault {
            process: process.to_owned(),
            at: Duration::from_secs(at),
            action,
            undone_after: undone_after.map(Duration::from_secs),
        };
        let faults = [
            fault("nats", 5, Action::Kill, Some(10)),
            fault("redis", 7, Action::Freeze, Some(1)),
            fault("system", 9, Action::Stop, None),
        ];
        let told: Vec<_> = steps(&faults)
            .iter()
            .map(|step| (step.at.as_secs(), step.process.clone(), step.action))
            .collect();
        assert_eq!(
            told,
            [
                (5, "nats".to_owned(), Action::Kill),
                (7, "redis".to_owned(), Action::Freeze),
                (8, "redis".to_owned(), Action::Continue),
                (9, "system".to_owned(), Action::Stop),
                (15, "nats".to_owned(), Action::Start),
            ]
        );
    }
}
