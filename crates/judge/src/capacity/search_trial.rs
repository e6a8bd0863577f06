//! One trial of the search, as a run of its own.

use record::summary::{StepResult, Summary, TrialSummary};
use stats::capacity::search::SearchStep;

/// A trial of the search.
#[derive(Debug, Clone)]
pub struct SearchTrial {
    /// What was asked for.
    pub step: SearchStep,
    /// What came of it.
    pub result: StepResult,
    /// It alone, judged.
    pub summary: Summary,
}

/// The trial of a run that has no other.
pub(super) fn only_trial(summary: &Summary) -> Option<&TrialSummary> {
    summary.arms.iter().flat_map(|arm| &arm.trials).next()
}
