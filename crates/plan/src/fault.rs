//! A fault: injected on purpose into a process of the trial while the load runs.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::format_duration;

/// A fault, and when it is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The process or part that it hits.
    #[serde(flatten)]
    pub whom: FaultTarget,
    /// When, from the start of the measure phase.
    pub at: Duration,
    /// The action.
    pub action: FaultAction,
    /// Time until it is undone (started again at the same address, or continued); `None`: never.
    pub undone_after: Option<Duration>,
}

/// A process that the trial starts, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultTarget {
    /// A service, an observer, or `system`.
    pub process: String,
    /// One of its processes, as its ready line names it; only the process that started it may restart it. `None` for
    /// all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl FaultTarget {
    /// Parses a name such as `system` or `system.producer`; `started` are the names of started processes.
    pub fn named(text: &str, started: &[String]) -> Option<Self> {
        if started.iter().any(|known| known == text) {
            return Some(Self { process: text.to_owned(), part: None });
        }
        let part = |process: &String| {
            let part = text.strip_prefix(process.as_str())?.strip_prefix('.')?;
            let part = (!part.is_empty()).then(|| part.to_owned());
            Some(Self { process: process.clone(), part: Some(part?) })
        };
        // Names may contain dots, so the longest matching process wins.
        started.iter().filter_map(part).max_by_key(|whom| whom.process.len())
    }

    /// Whether a fault on one affects the other, or a part of it.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        let is_whole = self.part.is_none() || other.part.is_none();
        self.process == other.process && (is_whole || self.part == other.part)
    }
}

impl fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}.{part}", self.process),
            None => f.write_str(&self.process),
        }
    }
}

impl Fault {
    /// Whether the target may be hit again at this instant. The restart time of a killed part is unknown; if the part
    /// is not back, the next fault fails and reports it.
    pub(crate) fn is_over(&self, at: Duration) -> bool {
        match self.undone_after {
            Some(after) => self.at.saturating_add(after) <= at,
            None => self.whom.part.is_some() && self.at < at,
        }
    }
}

/// An action on a process and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultAction {
    /// SIGKILL.
    Kill,
    /// SIGTERM; a process that still runs when it is started again is killed.
    Stop,
    /// SIGSTOP.
    Freeze,
    /// Started again with the same ports and the same folder.
    Start,
    /// SIGCONT.
    Continue,
}

impl FaultAction {
    /// The action that undoes it.
    pub fn undone_by(self) -> Self {
        match self {
            Self::Freeze | Self::Continue => Self::Continue,
            Self::Kill | Self::Stop | Self::Start => Self::Start,
        }
    }
}

impl fmt::Display for FaultAction {
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
        write!(f, "{} {} at {}", self.action, self.whom, format_duration(self.at))?;
        match self.undone_after {
            Some(after) => {
                let back = format_duration(self.at + after);
                write!(f, ", {} at {back}", self.action.undone_by())
            }
            None => Ok(()),
        }
    }
}

/// One action at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultStep {
    /// When, from the start of the measure phase.
    pub at: Duration,
    /// Its target.
    pub whom: FaultTarget,
    /// The action.
    pub action: FaultAction,
}

/// Faults and the actions that undo them, in order of time.
pub fn steps(faults: &[Fault]) -> Vec<FaultStep> {
    let mut steps = Vec::new();
    for fault in faults {
        let step = |at, action| FaultStep { at, whom: fault.whom.clone(), action };
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
            whom: FaultTarget { process: process.to_owned(), part: None },
            at: Duration::from_secs(at),
            action,
            undone_after: undone_after.map(Duration::from_secs),
        };
        let faults = [
            fault("nats", 5, FaultAction::Kill, Some(10)),
            fault("redis", 7, FaultAction::Freeze, Some(1)),
            fault("system", 9, FaultAction::Stop, None),
        ];
        let told: Vec<_> = steps(&faults)
            .iter()
            .map(|step| (step.at.as_secs(), step.whom.to_string(), step.action))
            .collect();
        assert_eq!(
            told,
            [
                (5, "nats".to_owned(), FaultAction::Kill),
                (7, "redis".to_owned(), FaultAction::Freeze),
                (8, "redis".to_owned(), FaultAction::Continue),
                (9, "system".to_owned(), FaultAction::Stop),
                (15, "nats".to_owned(), FaultAction::Start),
            ]
        );
    }

    #[test]
    fn a_part_stands_behind_the_longest_name_that_is_started() {
        let started = ["system", "a.b", "a", "sys"].map(str::to_owned);
        let named = |text: &str| {
            let whom = FaultTarget::named(text, &started)?;
            assert_eq!(whom.to_string(), text);
            Some((whom.process, whom.part))
        };
        let of = |process: &str, part: &str| {
            Some((process.to_owned(), Some(part.to_owned()).filter(|part| !part.is_empty())))
        };
        assert_eq!(named("system"), of("system", ""));
        assert_eq!(named("system.producer"), of("system", "producer"));
        assert_eq!(named("a.b"), of("a.b", ""), "a name is that of a process first");
        assert_eq!(named("a.b.c"), of("a.b", "c"));
        assert_eq!(named("a.c"), of("a", "c"));
        for stranger in ["system.", ".producer", "sytem.producer", "producer", ""] {
            assert_eq!(named(stranger), None, "{stranger}");
        }
    }
}
