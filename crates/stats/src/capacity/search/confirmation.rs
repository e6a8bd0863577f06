//! Fresh trials at the low end, mixed with one below it and one at the high end.

use super::standing::Tally;
use super::{Purpose, SearchStep, StepOutcome, readable};
use crate::chance::Chance;

/// Four of five must pass.
const SHARE: f64 = 0.8;
/// Where it is looked at below the low end whether rates are in order, in low ends.
const BELOW: f64 = 0.9;
/// The same above it, where no high end is known.
const ABOVE: f64 = 1.05;
/// One failure below may be chance; so many of three trials are not.
const DISPROVED: u32 = 2;

/// Trials that are still to be made, and how those made ended.
#[derive(Debug, Clone)]
pub(super) struct Confirmation {
    pub(super) rate: f64,
    /// At the rate.
    pub(super) tally: Tally,
    /// Below it.
    pub(super) below: Tally,
    queue: Vec<SearchStep>,
    of: u32,
}

/// What has come out by now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Answer {
    /// Trials are left that matter.
    Open,
    /// The rate passes.
    Confirmed,
    /// It does not.
    Refused,
    /// This lower rate fails, so that the one at hand cannot be the low end.
    Disproved(f64),
}

impl Confirmation {
    /// So many trials at the rate, in an order drawn from the seed; and one above, at the high end where that is known,
    /// so that its failure is seen a second time.
    pub(super) fn new(rate: f64, above: Option<f64>, seconds: f64, many: u32, seed: u64) -> Self {
        let step = |rate, purpose| SearchStep { rate, seconds, purpose };
        let above = above.unwrap_or_else(|| readable(rate * ABOVE));
        let mut queue = vec![step(rate, Purpose::Confirm); many as usize];
        queue.push(step(readable(rate * BELOW), Purpose::Check));
        queue.push(step(above, Purpose::Check));
        let mut chance = Chance::new(seed);
        for last in (1..queue.len()).rev() {
            queue.swap(last, (chance.bits() % (last as u64 + 1)) as usize);
        }
        Self { rate, tally: Tally::default(), below: Tally::default(), queue, of: many }
    }

    /// Leaves out what lies below a rate that is confirmed already, or above the greatest allowed.
    pub(super) fn keep_within(&mut self, least: f64, most: f64) {
        self.queue.retain(|step| (least..=most).contains(&step.rate));
    }

    pub(super) fn next_step(&self) -> Option<SearchStep> {
        self.queue.last().copied()
    }

    /// The trial asked for last has ended.
    pub(super) fn hear(&mut self, step: SearchStep, outcome: StepOutcome) -> Answer {
        self.queue.pop();
        match step.purpose {
            Purpose::Check if step.rate < self.rate => return self.hear_below(step, outcome),
            Purpose::Check => {}
            _ => self.tally.add(outcome),
        }
        self.answer()
    }

    /// A failure is looked at again, up to twice.
    fn hear_below(&mut self, step: SearchStep, outcome: StepOutcome) -> Answer {
        // A first trial that cannot be decided says nothing about the order of rates.
        if outcome != StepOutcome::Undecided || self.below.failed > 0 {
            self.below.add(outcome);
        }
        if self.below.others() >= DISPROVED {
            return Answer::Disproved(step.rate);
        }
        if self.below.failed > 0 && self.below.passed < DISPROVED {
            self.queue.push(step);
        }
        self.answer()
    }

    /// As soon as no further trial can change it.
    fn answer(&mut self) -> Answer {
        let needed = (SHARE * f64::from(self.of)).ceil() as u32;
        if self.tally.others() > self.of - needed {
            return Answer::Refused;
        }
        if self.tally.passed >= needed {
            self.queue.retain(|step| step.purpose == Purpose::Check);
        }
        if self.queue.is_empty() { Answer::Confirmed } else { Answer::Open }
    }
}
