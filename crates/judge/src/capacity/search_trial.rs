//! One trial of a search for capacity.

use record::summary::{StepResult, Summary, TrialSummary};
use stats::capacity::search::SearchStep;

/// A trial of the search.
#[derive(Debug, Clone)]
pub struct SearchTrial {
    /// The step that the search asked for.
    pub step: SearchStep,
    /// Its result.
    pub result: StepResult,
    /// The judged summary of this trial alone.
    pub summary: Summary,
}

/// The trial of a run with exactly one trial.
pub(super) fn only_trial(summary: &Summary) -> Option<&TrialSummary> {
    summary.arms.iter().flat_map(|arm| &arm.trials).next()
}
