//! What became of a trial's journeys, and how far they came.

use serde::{Deserialize, Serialize};

use super::OperationTotals;

/// Counts and times of one journey.
///
/// `totals` counts whole journeys as it would operations: the response time is that of the journey from its planned
/// start to its last answer, the service time is the same without thinking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JourneyTotals {
    /// Whole journeys.
    pub totals: OperationTotals,
    /// Its steps but for the pauses, in order.
    pub steps: Vec<StepTotals>,
}

/// A step over all journeys that were due in the measure phase.
///
/// Shape:  `reached = succeeded + failed + abandoned`; reached and skipped ones together are the journeys that came
/// as far as here
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTotals {
    /// Names of its operations.
    pub name: String,
    /// Journeys that began it.
    pub reached: u64,
    /// Journeys in which all of it succeeded.
    pub succeeded: u64,
    /// Journeys in which some of it failed.
    pub failed: u64,
    /// Journeys that were in it at the drain deadline.
    pub abandoned: u64,
    /// Journeys that left it out, by their share or their condition.
    pub skipped: u64,
    /// Journeys that ended here because it failed.
    pub ended: u64,
}

/// What became of a step of one journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// Left out.
    Skipped,
    /// All of it succeeded.
    Succeeded,
    /// Some of it failed; `ends` if the journey ended with it.
    Failed {
        /// Whether the journey ended with it.
        ends: bool,
    },
    /// It was unfinished at the drain deadline.
    Abandoned,
}

impl JourneyTotals {
    pub(super) fn new(name: &str, steps: &[String], spans: usize) -> Self {
        let step = |name: &String| StepTotals { name: name.clone(), ..StepTotals::default() };
        Self {
            totals: OperationTotals::new(name, spans, 0),
            steps: steps.iter().map(step).collect(),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.merge(theirs);
        }
    }
}

impl StepTotals {
    pub(crate) fn end(&mut self, outcome: StepOutcome) {
        self.reached += u64::from(outcome != StepOutcome::Skipped);
        match outcome {
            StepOutcome::Skipped => self.skipped += 1,
            StepOutcome::Succeeded => self.succeeded += 1,
            StepOutcome::Failed { ends } => {
                self.failed += 1;
                self.ended += u64::from(ends);
            }
            StepOutcome::Abandoned => self.abandoned += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.reached += other.reached;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.skipped += other.skipped;
        self.ended += other.ended;
    }
}
