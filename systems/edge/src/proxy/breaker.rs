//! When a route's upstream is left alone: a machine over instants that are given to it, without a clock of its own.

use std::time::{Duration, Instant};

/// The window is forgotten in so many steps: what is counted covers between 11/12 of it and all of it.
const SLOTS: usize = 12;

/// When a breaker opens, and how it closes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// It opens with so many errors within the window; from 1 on.
    pub errors: u64,
    /// How long an error counts.
    pub window: Duration,
    /// How long it stays open before a request may try.
    pub pause: Duration,
    /// It closes after so many tries without an error; from 1 on.
    pub probes: u64,
}

/// Whether a request may go to the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// As the one that tries.
    Probe,
    /// Not before so long from now.
    Refuse(Duration),
}

/// What came of a request that might go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    Failed,
    /// Nothing is known: the client went away.
    Unknown,
}

/// How it stands, as metrics tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Closed = 0,
    HalfOpen = 1,
    Open = 2,
}

#[derive(Debug)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen { is_probing: bool, passed: u64 },
}

/// One route's.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    errors: Window,
}

impl Breaker {
    pub fn new(now: Instant) -> Self {
        Self { state: State::Closed, errors: Window::new(now) }
    }

    /// Whether a request may go now. The outcome of a probe must be reported.
    pub fn ask(&mut self, rules: &Rules, now: Instant) -> Verdict {
        match &mut self.state {
            State::Closed => Verdict::Pass,
            State::Open { until } if now < *until => Verdict::Refuse(*until - now),
            State::Open { .. } => {
                self.state = State::HalfOpen { is_probing: true, passed: 0 };
                Verdict::Probe
            }
            State::HalfOpen { is_probing: true, .. } => Verdict::Refuse(rules.pause),
            State::HalfOpen { is_probing, .. } => {
                *is_probing = true;
                Verdict::Probe
            }
        }
    }

    /// What came of a request, and whether it was the one that tried. Answers from before it opened change nothing.
    pub fn record(&mut self, rules: &Rules, now: Instant, is_probe: bool, outcome: Outcome) {
        match (&mut self.state, is_probe, outcome) {
            (State::Closed, false, Outcome::Failed) => {
                let errors = self.errors.add(rules.window, now);
                if errors >= rules.errors {
                    self.open(rules, now);
                }
            }
            (State::HalfOpen { .. }, true, Outcome::Failed) => self.open(rules, now),
            (State::HalfOpen { is_probing, passed }, true, outcome) => {
                *is_probing = false;
                *passed += u64::from(outcome == Outcome::Answered);
                if *passed >= rules.probes {
                    *self = Self::new(now);
                }
            }
            _ => {}
        }
    }

    /// How it stands, and the errors that it counts.
    pub fn look(&mut self, rules: &Rules, now: Instant) -> (Position, u64) {
        let position = match self.state {
            State::Closed => Position::Closed,
            State::HalfOpen { .. } => Position::HalfOpen,
            State::Open { .. } => Position::Open,
        };
        (position, self.errors.sum(rules.window, now))
    }

    fn open(&mut self, rules: &Rules, now: Instant) {
        self.state = State::Open { until: now + rules.pause };
    }
}

/// Errors of the last while, by slots of time.
#[derive(Debug)]
struct Window {
    begun: Instant,
    /// The slot that is counted into, from the beginning on.
    newest: u128,
    counts: [u64; SLOTS],
}

impl Window {
    fn new(now: Instant) -> Self {
        Self { begun: now, newest: 0, counts: [0; SLOTS] }
    }

    /// One more; how many there are with it.
    fn add(&mut self, window: Duration, now: Instant) -> u64 {
        self.forget(window, now);
        self.counts[self.place()] += 1;
        self.counts.iter().sum()
    }

    fn sum(&mut self, window: Duration, now: Instant) -> u64 {
        self.forget(window, now);
        self.counts.iter().sum()
    }

    fn forget(&mut self, window: Duration, now: Instant) {
        let slot = (window.as_nanos() / SLOTS as u128).max(1);
        let current = now.saturating_duration_since(self.begun).as_nanos() / slot;
        // Beyond a whole turn there is nothing left to forget.
        for _ in 0..current.saturating_sub(self.newest).min(SLOTS as u128) {
            self.newest += 1;
            let place = self.place();
            self.counts[place] = 0;
        }
        self.newest = self.newest.max(current);
    }

    fn place(&self) -> usize {
        // Smaller than the number of slots.
        (self.newest % SLOTS as u128) as usize
    }
}

#[cfg(test)]
mod tests;
