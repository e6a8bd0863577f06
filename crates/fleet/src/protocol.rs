//! What coordinator and agents say to each other: JSON over NATS.
//!
//! Commands go to one agent and are answered. Reports of agents go through a JetStream stream, so that none is lost
//! while either side is away, and none counts twice.

use std::time::Duration;

use engine::process::Addresses;
use engine::trial::TrialOutput;
use plan::experiment::ReportedNames;
use plan::load::ArrivalProcess;
use plan::plan::TrialPlan;
use record::event::{Event, EventKind};
use record::folder::RunRequest;
use record::summary::Machine;
use record::{AllFailed, EarlyEnd, Window};
use serde::{Deserialize, Serialize};

/// An agent that waits for work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its mark, drawn when it started.
    pub id: String,
    /// Name of the machine, or the one that it was given.
    pub name: String,
    /// The machine's since it was started.
    pub boot_id: String,
    /// What it is.
    pub machine: Machine,
    /// Version of proofload.
    pub version: String,
}

/// A coordinator looks for agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its run.
    pub run: String,
}

/// What an agent is to perform in all trials of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The run.
    pub run: String,
    /// Number of the share, from 1.
    pub share: u32,
    /// Shares in all.
    pub of: u32,
    /// The run as requested, with the text of the experiment.
    pub request: RunRequest,
    /// The files that the experiment names.
    pub files: Vec<ShippedFile>,
    /// What the programs of its systems reported, in the order in which loading asks: agents start no programs.
    pub systems: Vec<Option<ReportedNames>>,
    /// SHA-256 of the plan that must come of it; the plan, as JSON without secrets, is an object of the store with this
    /// name.
    pub plan_hash: String,
    /// Whether workers leave their scheduling as it is.
    pub no_realtime: bool,
}

/// A file that an experiment names; its content is in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedFile {
    /// Relative to the experiment file.
    pub path: String,
    /// SHA-256 of its content, hexadecimal: its name in the store.
    pub sha256: String,
}

/// A command, whose it is, and its number: one that is given again has the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// Of this run.
    pub run: String,
    /// From 1.
    pub number: u64,
    /// What to do.
    pub command: Command,
}

/// From the coordinator to one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Load the plan; answered by [`Report::Loaded`] or [`Report::Refused`].
    Take(Box<Task>),
    /// Get ready for trials that begin at the same time; answered by [`Report::Ready`] or [`Report::CouldNotBegin`].
    Prepare {
        /// The coordinator's attempts to perform trials, this one included.
        attempt: u32,
        /// At least one.
        trials: Vec<Assignment>,
    },
    /// Begin the load at this instant of the agent's CLOCK_MONOTONIC.
    Begin {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// Do not begin.
    CallOff,
    /// End the measure phase now.
    End(EarlyEnd),
    /// Stop: requests so far.
    Stop {
        /// How many.
        requests: u32,
    },
    /// Read your clock.
    Clock,
    /// The run is over.
    Leave,
}

/// A trial for an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its place in the run; its arm is that of the agent's plan.
    pub trial: TrialPlan,
    /// The load of a step of a search, instead of the arm's own.
    pub step: Option<StepLoad>,
    /// Of the processes that the coordinator has started.
    pub addresses: Addresses,
}

/// The load of one step of a search for the capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepLoad {
    /// Name of the arm with this load.
    pub name: String,
    /// When operations begin.
    pub arrivals: ArrivalProcess,
    /// Length of the measure phase.
    pub length: Duration,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done, or begun.
    Done,
    /// The agent works for another run.
    Busy,
    /// Stamps of CLOCK_MONOTONIC.
    Clock {
        /// The command arrived.
        received: u64,
        /// This answer left.
        answered: u64,
    },
}

/// From an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    /// Whose.
    pub share: u32,
    /// About which attempt to perform trials; 0 where it is about the run.
    pub attempt: u32,
    /// About which of its trials.
    pub trial: u32,
    /// What.
    pub report: Report,
}

/// What an agent reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The plan is loaded, and is the right one.
    Loaded,
    /// The plan cannot be performed here: why.
    Refused(String),
    /// Everything is ready, and nothing was sent.
    Ready,
    /// The trial could not begin: why.
    CouldNotBegin(String),
    /// Output of the running trial.
    Output(Output),
    /// The trial has ended; its facts are this object of the store.
    Ended {
        /// Name of the object.
        facts: String,
    },
}

/// Output of a running trial; raw samples are not sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// An event.
    Event(Event),
    /// A part of a window, to be followed by the rest.
    Part(Window),
    /// A window, or the last part of one.
    Window(Window),
    /// All operations have failed so far.
    AllFailed(AllFailed),
}

/// Operations and journeys of a window in one message: a message of NATS has a limit, 1 MiB by default.
const IN_ONE_MESSAGE: usize = 32;

impl Output {
    /// The output in messages; none for raw samples, nor for what follows from windows.
    pub fn of(output: TrialOutput) -> Vec<Self> {
        match output {
            // The window itself says as much.
            TrialOutput::Event(Event { kind: EventKind::WindowClosed(_), .. }) => Vec::new(),
            TrialOutput::Event(event) => vec![Self::Event(event)],
            TrialOutput::Window(window) => {
                let mut parts = parts(window);
                let last = parts.pop().map(Self::Window);
                parts.into_iter().map(Self::Part).chain(last).collect()
            }
            TrialOutput::AllFailed(failed) => vec![Self::AllFailed(failed)],
            TrialOutput::Open { .. } | TrialOutput::Samples(_) => Vec::new(),
        }
    }
}

/// A window in parts that add up to it.
fn parts(window: Window) -> Vec<Window> {
    let (operations, journeys) = (window.operations.len(), window.journeys.len());
    if operations + journeys <= IN_ONE_MESSAGE {
        return vec![window];
    }
    let number = window.number;
    let all: Vec<_> = window.operations.into_iter().chain(window.journeys).collect();
    let mut parts = Vec::new();
    for first in (0..all.len()).step_by(IN_ONE_MESSAGE) {
        let mut part = vec![Default::default(); all.len()];
        let last = (first + IN_ONE_MESSAGE).min(all.len());
        part[first..last].clone_from_slice(&all[first..last]);
        let journeys = part.split_off(operations);
        parts.push(Window { number, operations: part, journeys });
    }
    parts
}

/// The fleet of agents that were given no other name.
pub const DEFAULT_FLEET: &str = "default";

/// A mark that no other run or agent has.
pub fn mark() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's only source of randomness.
    format!("{:016x}", std::hash::RandomState::new().build_hasher().finish())
}

/// The subject on which coordinators of this fleet call.
pub fn call_subject(fleet: &str) -> String {
    format!("proofload.{fleet}.call")
}

/// The subject on which agents answer a call.
pub fn hello_subject(fleet: &str, run: &str) -> String {
    format!("proofload.{fleet}.hello.{run}")
}

/// The subject on which an agent takes commands.
pub fn command_subject(fleet: &str, agent: &str) -> String {
    format!("proofload.{fleet}.agent.{agent}")
}

/// The subject of reports.
pub fn report_subject(fleet: &str, run: &str) -> String {
    format!("proofload.{fleet}.report.{run}")
}

/// The stream of reports of a run, and the bucket of its objects.
pub fn store_name(run: &str) -> String {
    format!("PROOFLOAD_{run}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::OperationWindow;

    #[test]
    fn a_window_of_many_operations_comes_in_parts_that_add_up() {
        let operation = |planned| OperationWindow { planned, ..OperationWindow::default() };
        let window = Window {
            number: 7,
            operations: (0..70).map(operation).collect(),
            journeys: (70..80).map(operation).collect(),
        };
        let parts = parts(window.clone());
        assert_eq!(parts.len(), 3);
        let mut sum = Window { number: 7, ..Window::default() };
        sum.operations.resize_with(70, Default::default);
        sum.journeys.resize_with(10, Default::default);
        for part in &parts {
            assert_eq!((part.operations.len(), part.journeys.len()), (70, 10));
            let all = sum.operations.iter_mut().chain(&mut sum.journeys);
            let own = part.operations.iter().chain(&part.journeys);
            all.zip(own).for_each(|(sum, own)| sum.planned += own.planned);
        }
        assert_eq!(sum, window);
        assert_eq!(super::parts(Window::default()).len(), 1);
    }
}
