//! How a trial went, as far as it matters to criteria.

use plan::criterion::Criterion;
use record::summary::{Judgement, TrialSummary, Validity};

use crate::agents::windows_are_apart;
use crate::case::{Facts, gave_up};
use crate::validity;

/// Share of the plan that must have been begun for a pass.
const REACHED: f64 = 0.99;

/// How a trial went.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialState {
    pub(super) trial: u32,
    pub(super) validity: Validity,
    /// The user stopped it.
    pub(super) interrupted: bool,
    /// The run gave up, because of these criteria.
    pub(super) given_up: Vec<String>,
    /// The run gave up, because of any criterion.
    pub(super) cut_short: bool,
    /// Nearly all that was planned was begun.
    pub(super) reached: bool,
    /// Its closed load waited for its processor.
    pub(super) crowded: bool,
    /// The system under test waited for its processors.
    pub(super) held_up: bool,
    /// Its windows are those of machines whose clocks may disagree.
    pub(super) apart: bool,
    /// The result of the criterion in this trial alone.
    pub(super) alone: Judgement,
}

impl TrialState {
    /// The state of a trial.
    pub fn of(trial: &TrialSummary, facts: &Facts) -> Self {
        let accounting = &trial.accounting;
        let early = facts.early_end.as_ref().filter(|early| gave_up(Some(early)));
        Self {
            trial: trial.index,
            validity: trial.validity,
            interrupted: facts.interrupted,
            given_up: early.map(|early| early.criteria.clone()).unwrap_or_default(),
            cut_short: early.is_some(),
            reached: accounting.started as f64 >= REACHED * accounting.planned as f64,
            crowded: validity::crowding(trial, facts).is_some(),
            held_up: validity::system_crowding(trial, facts).is_some(),
            apart: windows_are_apart(&trial.agents),
            alone: Judgement::Inconclusive,
        }
    }

    /// Whether the counts of the trial say anything about the target.
    pub(super) fn is_usable(&self) -> bool {
        self.validity != Validity::Invalid
    }

    /// Whether other programs may have caused the result of the criterion, if it limits times or rates. For a closed
    /// load that waited, this holds for any result. For a system that waited, it holds for a failure: waiting makes a
    /// system slower, so a system that passes would also pass alone.
    pub(super) fn is_crowded_for(&self, criterion: &Criterion, fails: bool) -> bool {
        criterion.asks_for_a_steady_state() && (self.crowded || (fails && self.held_up))
    }

    /// Whether the criterion is about windows that have no common instant.
    pub(super) fn is_apart_for(&self, criterion: &Criterion) -> bool {
        criterion.over.is_some() && self.apart
    }

    /// Whether the run gave up because this criterion could no longer be met.
    pub(super) fn gave_up(&self, criterion: &Criterion) -> bool {
        self.given_up.contains(&criterion.text)
    }
}
