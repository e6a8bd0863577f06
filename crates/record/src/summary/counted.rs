//! Which trials count, and which may be used.

use serde::{Deserialize, Serialize};

use super::{Arm, Summary, TrialSummary, Validity};

/// What a trial is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountsFor {
    /// Criteria, comparisons, the verdict, and findings about several trials.
    #[default]
    Judgement,
    /// The noise alone: it is one of an A/A pair.
    Noise,
    /// Nothing: its generator was late, and the file spares such trials in some blocks.
    Spared,
    /// Nothing: its block was executed again, so that it is invalid, too.
    Nothing,
}

impl Summary {
    /// The trials that count, arm by arm: neither those of A/A pairs nor those that are spared or were executed again.
    pub fn counted(&self) -> impl Iterator<Item = &TrialSummary> {
        self.arms.iter().flat_map(Arm::counted)
    }
}

impl Arm {
    /// The trials that count, in order of execution.
    pub fn counted(&self) -> impl DoubleEndedIterator<Item = &TrialSummary> {
        self.trials.iter().filter(|trial| trial.counts_for == CountsFor::Judgement)
    }
}

impl TrialSummary {
    /// Whether nothing stands against using it.
    pub fn is_usable(&self) -> bool {
        matches!(self.validity, Validity::Valid | Validity::Noted)
    }
}
