//! What is known of each rate that was tried.

use super::{Bracket, SAME, StepOutcome};

/// What the trials at a rate say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RateVerdict {
    Passed,
    Undecided,
    Failed,
}

/// How trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) undecided: u32,
}

#[derive(Debug, Clone, Copy)]
struct Standing {
    rate: f64,
    /// Of the longest trial.
    seconds: f64,
    /// Of trials that long, and of shorter ones that said the same before.
    tally: Tally,
    /// What fresh trials made of it, where there were some.
    confirmed: Option<bool>,
}

/// Rates in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Standings {
    rates: Vec<Standing>,
}

impl Tally {
    pub(super) fn add(&mut self, outcome: StepOutcome) {
        match outcome {
            StepOutcome::Passed => self.passed += 1,
            StepOutcome::Failed => self.failed += 1,
            StepOutcome::Undecided | StepOutcome::Invalid => self.undecided += 1,
        }
    }

    /// Trials that did not pass.
    pub(super) fn others(self) -> u32 {
        self.failed + self.undecided
    }

    /// A rate that passed and failed is noise around the capacity, and neither end.
    fn is_contested(self) -> bool {
        self.passed > 0 && self.failed > 0
    }

    fn verdict(self) -> RateVerdict {
        match (self.passed > 0, self.failed > 0) {
            (true, false) => RateVerdict::Passed,
            (false, true) => RateVerdict::Failed,
            _ => RateVerdict::Undecided,
        }
    }
}

impl Standing {
    /// A rate that was not confirmed was not shown to fail either.
    fn verdict(&self) -> RateVerdict {
        match self.confirmed {
            Some(true) => RateVerdict::Passed,
            Some(false) => RateVerdict::Undecided,
            None => self.tally.verdict(),
        }
    }

    fn is_contested(&self) -> bool {
        self.confirmed == Some(false) || self.is_unsettled()
    }

    fn is_unsettled(&self) -> bool {
        self.confirmed.is_none() && self.tally.is_contested()
    }
}

impl Standings {
    /// The longest trial at a rate speaks for it, and equally long ones together.
    pub(super) fn hear(&mut self, rate: f64, seconds: f64, outcome: StepOutcome) {
        let known = self.known_at(rate, seconds);
        if seconds < known.seconds {
            return;
        }
        let mut heard = Tally::default();
        heard.add(outcome);
        if seconds > known.seconds && known.tally.verdict() != heard.verdict() {
            known.tally = Tally::default();
        }
        known.seconds = seconds;
        known.tally.add(outcome);
    }

    /// Fresh trials have confirmed a rate, or have not.
    pub(super) fn settle(&mut self, rate: f64, seconds: f64, fresh: Tally, confirmed: bool) {
        let known = self.known_at(rate, seconds);
        known.seconds = known.seconds.max(seconds);
        known.tally.passed += fresh.passed;
        known.tally.failed += fresh.failed;
        known.tally.undecided += fresh.undecided;
        known.confirmed = Some(confirmed);
    }

    /// One that is not known yet has no trial.
    fn known_at(&mut self, rate: f64, seconds: f64) -> &mut Standing {
        let found = self.rates.iter().position(|known| is_same(known.rate, rate));
        let place = found.unwrap_or_else(|| {
            let place = self.rates.partition_point(|known| known.rate < rate);
            let unknown = Standing { rate, seconds, tally: Tally::default(), confirmed: None };
            self.rates.insert(place, unknown);
            place
        });
        &mut self.rates[place]
    }

    fn at(&self, rate: f64) -> Option<&Standing> {
        self.rates.iter().find(|known| is_same(known.rate, rate))
    }

    /// Length of the trial that speaks for a rate; 0 for an unknown one.
    pub(super) fn seconds(&self, rate: f64) -> f64 {
        self.at(rate).map_or(0.0, |known| known.seconds)
    }

    /// How often a rate failed.
    pub(super) fn failures(&self, rate: f64) -> u32 {
        self.at(rate).map_or(0, |known| known.tally.failed)
    }

    /// Whether this rate passed and did not, or was not confirmed.
    pub(super) fn is_contested(&self, rate: f64) -> bool {
        self.at(rate).is_some_and(Standing::is_contested)
    }

    /// Whether this rate passed and failed, and fresh trials have not said which of the two was chance.
    pub(super) fn is_unsettled(&self, rate: f64) -> bool {
        self.at(rate).is_some_and(Standing::is_unsettled)
    }

    /// How many rates were not confirmed.
    pub(super) fn refused(&self) -> usize {
        self.rates.iter().filter(|known| known.confirmed == Some(false)).count()
    }

    /// Whether one between these is.
    pub(super) fn is_contested_between(&self, low: f64, high: f64) -> bool {
        let mut between = self.rates.iter().filter(|known| low < known.rate && known.rate < high);
        between.any(Standing::is_contested)
    }

    /// Whether any rate passed in one trial and failed in another that was as long.
    pub(super) fn is_noisy(&self) -> bool {
        self.rates.iter().any(|known| known.tally.is_contested())
    }

    /// Once a rate was not confirmed, the largest that was is the low end, even if others passed once.
    pub(super) fn bracket(&self) -> Bracket {
        let first = self.rates.iter().position(|known| known.verdict() != RateVerdict::Passed);
        let (below, from) = self.rates.split_at(first.unwrap_or(self.rates.len()));
        let is_confirmed = |known: &&Standing| known.confirmed == Some(true);
        let confirmed = below.iter().rfind(is_confirmed).filter(|_| self.refused() > 0);
        let failed = |known: &&Standing| known.verdict() == RateVerdict::Failed;
        Bracket {
            low: confirmed.or(below.last()).map(|known| known.rate),
            not_shown: from.first().map(|known| known.rate),
            high: from.iter().find(failed).map(|known| known.rate),
            in_disorder: from.iter().any(|known| known.verdict() == RateVerdict::Passed),
        }
    }

    /// Largest rate that was tried below `high`, or of all.
    pub(super) fn below(&self, high: Option<f64>) -> Option<f64> {
        let mut below = self.rates.iter().filter(|known| high.is_none_or(|high| known.rate < high));
        below.next_back().map(|known| known.rate)
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SAME
}
