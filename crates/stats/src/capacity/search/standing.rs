//! What is known of each rate that was tried.

use super::{Bracket, Outcome, SAME};

/// What the longest trial said of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Undecided,
    Failed,
}

#[derive(Debug, Clone, Copy)]
struct Standing {
    rate: f64,
    seconds: f64,
    verdict: Verdict,
}

/// Rates in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Standings {
    rates: Vec<Standing>,
}

impl Verdict {
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::Undecided | Outcome::Invalid => Self::Undecided,
        }
    }
}

impl Standings {
    /// The longest trial at a rate speaks for it, and the last of equally long ones.
    pub(super) fn hear(&mut self, rate: f64, seconds: f64, verdict: Verdict) {
        let heard = Standing { rate, seconds, verdict };
        match self.rates.iter_mut().find(|known| is_same(known.rate, rate)) {
            Some(known) if seconds >= known.seconds => *known = heard,
            Some(_) => {}
            None => {
                let place = self.rates.partition_point(|known| known.rate < rate);
                self.rates.insert(place, heard);
            }
        }
    }

    /// Length of the trial that speaks for a rate; 0 for an unknown one.
    pub(super) fn seconds(&self, rate: f64) -> f64 {
        let known = self.rates.iter().find(|known| is_same(known.rate, rate));
        known.map_or(0.0, |known| known.seconds)
    }

    pub(super) fn bracket(&self) -> Bracket {
        let first = self.rates.iter().position(|known| known.verdict != Verdict::Passed);
        let (below, from) = self.rates.split_at(first.unwrap_or(self.rates.len()));
        let failed = |known: &&Standing| known.verdict == Verdict::Failed;
        Bracket {
            low: below.last().map(|known| known.rate),
            not_shown: from.first().map(|known| known.rate),
            high: from.iter().find(failed).map(|known| known.rate),
            in_disorder: from.iter().any(|known| known.verdict == Verdict::Passed),
        }
    }

    /// Largest rate below `high` that neither passed nor failed.
    pub(super) fn largest_undecided(&self, high: Option<f64>) -> Option<f64> {
        let open = self.rates.iter().filter(|known| known.verdict == Verdict::Undecided);
        let mut below = open.filter(|known| high.is_none_or(|high| known.rate < high));
        below.next_back().map(|known| known.rate)
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SAME
}
