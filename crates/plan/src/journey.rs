//! Journeys: steps that belong together, as one user performs them one after the other.
//!
//! The starts of journeys are planned. A later step is due when the one before it has ended, plus the think time
//! between them. What is drawn (think times, shares, rows) depends on the seed, the journey and the step alone.
//!
//! Not here: performing them (see the engine), what a protocol reads from an answer (see its driver).

mod capture;
mod condition;
mod memory;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::load::Think;
use crate::operation::{Operation, RowOrder};
use crate::randomness::{RandomStream, draw, spread, unit};
use crate::rows::Rows;
use crate::sessions::Sessions;
pub use capture::{Capture, CaptureSource, Decode};
pub use condition::{Condition, Test};
pub use memory::{Captured, Memory, MemoryFull, VALUE_LIMIT, VALUES_LIMIT};

/// What joins the names of operations that a step performs at the same time.
pub const TOGETHER: &str = " + ";

/// Steps of the longest journey.
pub const STEPS_LIMIT: usize = 100;
/// Operations that a journey performs at the same time, at most: as many as a browser has connections to one host.
pub const TOGETHER_LIMIT: usize = 6;

/// Steps that belong together.
#[derive(Debug, Clone, Serialize)]
pub struct Journey {
    /// Unique among journeys and operations.
    pub name: String,
    /// Relative frequency, beside other journeys and operations that no journey names.
    pub weight: f64,
    /// One row for each journey.
    pub rows: Option<Arc<Rows>>,
    /// One session for each journey, in place of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Arc<Sessions>>,
    /// How rows or sessions are taken.
    pub order: RowOrder,
    /// In order.
    pub steps: Vec<Step>,
    /// Whose connections its steps use.
    pub connections: Connections,
    /// Whether it goes on after a step that failed.
    pub after_failure: AfterFailure,
}

/// Operations that are performed once a trial, before or after the load.
#[derive(Debug, Clone, Serialize)]
pub struct Preparation {
    /// Indices of operations in the arm, in order.
    pub steps: Vec<usize>,
    /// All steps are performed for each of these rows, or once without any.
    pub rows: Option<Arc<Rows>>,
}

/// A step of a journey.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A pause.
    Think(Think),
    /// An operation, perhaps several times.
    Do(Action),
    /// Operations that begin at the same time; the step ends with the last of them.
    Together(Vec<usize>),
}

/// An operation as a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    /// Index of the operation in the arm.
    pub operation: usize,
    /// How often.
    pub repeat: Repeat,
    /// Probability of being performed at all, drawn for each journey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Performed only where this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// How often an action is performed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Once.
    Once,
    /// So many times, one after the other.
    Times(u32),
    /// Once for each value of a capture, which `{{each}}` stands for.
    Each {
        /// Place of the capture.
        capture: usize,
        /// The first so many values.
        at_most: u32,
    },
    /// Until its own answer meets a condition.
    Until {
        /// Over a capture of the operation itself.
        condition: Condition,
        /// Pause between an answer and the next attempt.
        every: Duration,
        /// From the step's start; after that the step has failed.
        within: Duration,
    },
    /// Once for each request of the journey's session: each as long after the one before it as it was recorded, or when
    /// that one has ended, if that is later.
    Session,
}

/// Whose connections the steps of a journey use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Connections {
    /// Its own, opened for it and closed with it.
    #[default]
    Own,
    /// Those of the load.
    Pool,
}

/// What a failed step means for its journey, which has failed in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterFailure {
    /// It ends there.
    #[default]
    End,
    /// Its later steps are performed.
    Continue,
}

impl Step {
    /// An operation, once.
    pub fn once(operation: usize) -> Self {
        Self::Do(Action { operation, repeat: Repeat::Once, share: None, when: None })
    }

    /// What a page calls it: the operation's name, or the names of all that it performs.
    pub fn label(&self, operations: &[Operation]) -> String {
        let name = |operation: &usize| operations[*operation].name.as_str();
        match self {
            Self::Think(think) => format!("think {:?}", think.mean()),
            Self::Do(action) => name(&action.operation).to_owned(),
            Self::Together(together) => {
                together.iter().map(name).collect::<Vec<_>>().join(TOGETHER)
            }
        }
    }

    /// Operations that it performs.
    pub fn operations(&self) -> &[usize] {
        match self {
            Self::Think(_) => &[],
            Self::Do(action) => std::slice::from_ref(&action.operation),
            Self::Together(operations) => operations,
        }
    }
}

impl Journey {
    /// The pause of its step at this place in the journey with this index.
    pub fn pause(think: &Think, seed: u64, index: u64, step: usize) -> Duration {
        think.pause(seed, key(index, step))
    }

    /// Whether the journey with this index performs an action with this share, at this place.
    pub fn takes(share: f64, seed: u64, index: u64, step: usize) -> bool {
        unit(draw(seed, RandomStream::Share, key(index, step))) <= share
    }

    /// Most connections of its own that are open at a time, to so many targets: each operation of a step that begins
    /// with others has its own, to each target that one in its place goes to; several share one where the protocol lets
    /// them.
    pub fn own_connections(&self, operations: &[Operation], targets: usize) -> u64 {
        if self.connections == Connections::Pool {
            return 0;
        }
        let is_anywhere = |one: &Operation| one.is_led() || one.requests.is_some();
        let reached = |one: &Operation| match is_anywhere(one) {
            true => (0..targets).collect(),
            false => vec![one.target.index(0)],
        };
        self.lanes(operations, reached).len() as u64
    }

    /// Connections of its own that it certainly opens to this target.
    pub fn certain_connections(&self, operations: &[Operation], target: usize) -> u64 {
        if self.connections == Connections::Pool {
            return 0;
        }
        let lanes = self.lanes(operations, |one| vec![one.target.index(0)]);
        lanes.iter().filter(|(_, place)| *place == target).count() as u64
    }

    /// Places in its steps, each with a target that an operation there reaches.
    fn lanes(
        &self,
        operations: &[Operation],
        reached: impl Fn(&Operation) -> Vec<usize>,
    ) -> BTreeSet<(usize, usize)> {
        let steps = self.steps.iter().flat_map(|step| step.operations().iter().enumerate());
        let lanes = steps.flat_map(|(lane, place)| {
            let operation = &operations[*place];
            let lane = if operation.multiplexes { 0 } else { lane };
            reached(operation).into_iter().map(move |target| (lane, target))
        });
        lanes.collect()
    }

    /// Number of rows or sessions; 0 if it has none.
    pub fn row_count(&self) -> usize {
        match (&self.sessions, &self.rows) {
            (Some(sessions), _) => sessions.len(),
            (None, Some(rows)) => rows.len(),
            (None, None) => 0,
        }
    }

    /// How often it waits for answers: its steps, and the mean number of a session's requests in place of one of them.
    pub(crate) fn turns(&self) -> f64 {
        let more = self.sessions.as_ref().map_or(0.0, |sessions| {
            sessions.requests() as f64 / sessions.len().max(1) as f64 - 1.0
        });
        self.steps.len() as f64 + more
    }

    /// Mean of all its pauses together; of a session, with the time that its requests took.
    pub fn thinking(&self) -> Duration {
        let pauses = self.steps.iter().map(|step| match step {
            Step::Think(think) => think.mean(),
            _ => Duration::ZERO,
        });
        let session = self.sessions.as_ref().map(|sessions| sessions.mean_length());
        pauses.sum::<Duration>() + session.unwrap_or_default()
    }
}

/// The place of a step's draws in a stream: the same on any number of workers.
fn key(index: u64, step: usize) -> u64 {
    spread(index).wrapping_add(step as u64)
}
