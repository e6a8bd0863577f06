//! Fresh trials at the low end, mixed with one below and one above it.

use super::standing::Verdict;
use super::{Outcome, Purpose, Step, readable};
use crate::chance::Chance;

/// Four of five must pass.
const SHARE: f64 = 0.8;
/// Where the order of rates is looked at, in low ends.
const BELOW: f64 = 0.9;
const ABOVE: f64 = 1.05;

/// Trials that are still to be made, and how those made ended.
#[derive(Debug, Clone)]
pub(super) struct Confirmation {
    pub(super) rate: f64,
    queue: Vec<Step>,
    passed: u32,
    failed: u32,
    undecided: u32,
    of: u32,
}

/// What has come out by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Trials are left that matter.
    Open,
    /// The rate passes.
    Confirmed,
    /// It does not.
    Refused(Verdict),
    /// A lower rate failed, so that this one cannot be the low end.
    Disproved,
}

impl Confirmation {
    /// So many trials at the rate, in an order drawn from the seed.
    pub(super) fn new(rate: f64, seconds: f64, many: u32, seed: u64) -> Self {
        let step = |rate, purpose| Step { rate, seconds, purpose };
        let mut queue = vec![step(rate, Purpose::Confirm); many as usize];
        queue.push(step(readable(rate * BELOW), Purpose::Check));
        queue.push(step(readable(rate * ABOVE), Purpose::Check));
        let mut chance = Chance::new(seed);
        for last in (1..queue.len()).rev() {
            queue.swap(last, (chance.bits() % (last as u64 + 1)) as usize);
        }
        Self { rate, queue, passed: 0, failed: 0, undecided: 0, of: many }
    }

    /// Leaves out what lies above the greatest rate allowed.
    pub(super) fn keep_below(&mut self, most: f64) {
        self.queue.retain(|step| step.rate <= most);
    }

    pub(super) fn next_step(&self) -> Option<Step> {
        self.queue.last().copied()
    }

    /// The trial asked for last has ended.
    pub(super) fn hear(&mut self, step: Step, outcome: Outcome) -> Answer {
        self.queue.pop();
        if step.purpose == Purpose::Check {
            if step.rate < self.rate && outcome == Outcome::Failed {
                return Answer::Disproved;
            }
        } else {
            match outcome {
                Outcome::Passed => self.passed += 1,
                Outcome::Failed => self.failed += 1,
                Outcome::Undecided | Outcome::Invalid => self.undecided += 1,
            }
        }
        self.answer()
    }

    /// As soon as no further trial can change it.
    fn answer(&mut self) -> Answer {
        let needed = (SHARE * f64::from(self.of)).ceil() as u32;
        if self.failed + self.undecided > self.of - needed {
            let mostly_failed = self.failed > self.undecided;
            return Answer::Refused(if mostly_failed {
                Verdict::Failed
            } else {
                Verdict::Undecided
            });
        }
        if self.passed >= needed {
            self.queue.retain(|step| step.purpose == Purpose::Check);
        }
        if self.queue.is_empty() { Answer::Confirmed } else { Answer::Open }
    }
}
