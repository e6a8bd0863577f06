//! The search for the highest rate that meets the criteria: told how each trial ended, it says which rate to
//! try next and for how long.
//!
//! A state machine without a clock, so that the same search runs against a simulation and against a target.
//! Its course: expand by twos until a rate does not pass; halve the bracket (geometrically) until its ends are
//! as near as wished; then narrow the stretch between the last rate that was not shown to pass and the first
//! that was shown to fail; then confirm the low end. Trials grow as the bracket narrows, because two rates can
//! be told apart the better the longer each is tried: the error falls with the square root of the length.
//!
//! - The longest trial at a rate speaks for it; among equally long ones, the last.
//! - On a noisy host every trial is short, and many of them at a rate speak for it together.
//! - Undecided: tried again for twice as long; at the longest, it counts as not passed.
//! - Invalid (the generator spoiled it): repeated, and never a failure. Where three in a row are, a rate that the
//!   generator never made is beyond it; before it has made any, half of the rate is tried.
//! - Of rates in disorder the smallest that does not pass is the upper end, and the largest that passes below
//!   it the lower one.
//!
//! Source: expansion, confirmation and the handling of disorder after MLPerf LoadGen and MLRsearch
//! (draft-ietf-bmwg-mlrsearch); lengths and the two ends are ours.

mod confirmation;
mod standing;

use confirmation::{Answer, Confirmation};
use standing::{Standings, Verdict};

use super::short_trials::{self, Bound, Goal};

/// What is searched, and what it may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// First rate, per second.
    pub start: f64,
    /// Rate that is never exceeded.
    pub most: Option<f64>,
    /// Greatest ratio of the ends of the bracket, 1.005 or more.
    pub precision: f64,
    /// Shortest trial, in seconds; not above the longest.
    pub shortest: f64,
    /// Longest trial, in seconds.
    pub longest: f64,
    /// Operations that a trial should have, as far as the longest trial holds them.
    pub operations: f64,
    /// Operations without which no trial can pass, however fast all of them were; 0 where any number can.
    pub fewest: f64,
    /// Fresh trials that confirm the low end; 0 for none.
    pub confirmations: u32,
    /// Whether a rate is judged by many of the shortest trials, as long as the longest together and half of which
    /// may be bad.
    pub noisy_host: bool,
    /// Trials after which the search gives up.
    pub most_trials: usize,
    /// Of the order in which confirming trials come.
    pub seed: u64,
}

/// Why a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find a rate that passes and one that does not.
    Expand,
    /// To bring the ends together.
    Narrow,
    /// An end rests on a short trial.
    Retest,
    /// To confirm the low end.
    Confirm,
    /// Below or above the low end, to see whether rates are in order.
    Check,
}

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Operations a second.
    pub rate: f64,
    /// Length of the measure phase.
    pub seconds: f64,
    /// Why.
    pub purpose: Purpose,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The criteria are met.
    Passed,
    /// One is not.
    Failed,
    /// The trial cannot tell.
    Undecided,
    /// The generator spoiled it.
    Invalid,
}

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Both ends are known, and the low one is confirmed.
    Bracketed,
    /// The generator can not make a rate above the low end.
    GeneratorLimited,
    /// The generator spoiled trial after trial at the first rate, or at one that it had made before.
    Spoiled,
    /// The greatest rate that was allowed still passes.
    LimitReached,
    /// No rate passes.
    NothingPasses,
    /// Too many trials.
    Exhausted,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// Largest rate that passes, below all that do not.
    pub low: Option<f64>,
    /// Smallest rate that was not shown to pass.
    pub not_shown: Option<f64>,
    /// Smallest rate that was shown to fail.
    pub high: Option<f64>,
    /// Whether a rate passed above one that did not.
    pub in_disorder: bool,
}

/// The search.
#[derive(Debug, Clone)]
pub struct Search {
    settings: Settings,
    standings: Standings,
    /// What must come next: the same again, longer or repeated.
    pending: Option<Step>,
    /// Trials at the rate at hand, on a noisy host.
    short: Vec<short_trials::Trial>,
    confirmation: Option<Confirmation>,
    confirmed: Option<f64>,
    /// Trials told of.
    trials: usize,
    /// Spoiled in a row.
    spoiled: u32,
    /// How often the first rate was halved because the generator did not make it.
    lowered: u32,
    /// Greatest rate that the generator has made.
    fastest: f64,
    ending: Option<Ending>,
}

/// Spoiled trials in a row after which a rate is given up.
const SPOILED: u32 = 3;
/// Halvings of a first rate that the generator does not make, before something else is held to spoil it.
const LOWERED: u32 = 3;
/// Rates are lowered by this when one is not confirmed.
const STEP_DOWN: f64 = 0.97;
/// Halvings of the first rate before nothing is held to pass.
const HALVINGS: i32 = 12;
/// Share of the time that may be bad on a noisy host.
const EXCEED: f64 = 0.5;
/// Two rates this near are one.
const SAME: f64 = 1e-9;

impl Search {
    /// A search that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            standings: Standings::default(),
            pending: None,
            short: Vec::new(),
            confirmation: None,
            confirmed: None,
            trials: 0,
            spoiled: 0,
            lowered: 0,
            fastest: 0.0,
            ending: None,
        }
    }

    /// What to try next; `None` when the search has ended.
    pub fn next_step(&mut self) -> Option<Step> {
        if self.ending.is_none() && self.trials >= self.settings.most_trials {
            self.ending = Some(Ending::Exhausted);
        }
        if self.ending.is_some() {
            return None;
        }
        if let Some(step) = self.pending {
            return Some(step);
        }
        if let Some(step) = self.confirmation.as_ref().and_then(Confirmation::next_step) {
            return Some(step);
        }
        match self.decide() {
            Ok(step) => Some(step),
            Err(ending) => {
                self.ending = Some(ending);
                None
            }
        }
    }

    /// Tells how the trial ended that [`next_step`](Self::next_step) asked for.
    pub fn tell(&mut self, step: Step, outcome: Outcome) {
        self.trials += 1;
        self.pending = None;
        if outcome == Outcome::Invalid {
            return self.tell_spoiled(step);
        }
        self.spoiled = 0;
        self.fastest = self.fastest.max(step.rate);
        if self.settings.noisy_host {
            return self.tell_short(step, outcome);
        }
        let is_longest = step.seconds >= self.settings.longest;
        if outcome == Outcome::Undecided && !is_longest {
            let seconds = (2.0 * step.seconds).min(self.settings.longest);
            self.pending = Some(Step { seconds, ..step });
            return;
        }
        match self.confirmation.take() {
            Some(confirmation) => self.confirm(confirmation, step, outcome),
            None => self.standings.hear(step.rate, step.seconds, Verdict::of(outcome)),
        }
    }

    /// The same again, up to a point: then a rate that was never made is beyond the generator, and whatever spoils one
    /// that was made does not go away.
    fn tell_spoiled(&mut self, step: Step) {
        self.spoiled += 1;
        if self.spoiled < SPOILED {
            self.pending = Some(step);
        } else if self.fastest > 0.0 {
            let is_made = step.rate <= self.fastest;
            self.ending = Some(if is_made { Ending::Spoiled } else { Ending::GeneratorLimited });
        } else if self.lowered < LOWERED && step.rate > self.least() {
            // Nothing was made yet, so that nothing is known of what it can.
            self.lowered += 1;
            self.spoiled = 0;
            self.settings.start = step.rate / 2.0;
        } else {
            self.ending = Some(Ending::Spoiled);
        }
    }

    /// One of many trials at a rate; what does not pass is bad.
    fn tell_short(&mut self, step: Step, outcome: Outcome) {
        let Settings { shortest, longest, .. } = self.settings;
        let goal = Goal {
            final_seconds: shortest,
            seconds_in_all: longest,
            loss_ratio: 0.0,
            exceed_ratio: EXCEED,
        };
        let loss_ratio = if outcome == Outcome::Passed { 0.0 } else { 1.0 };
        self.short.push(short_trials::Trial { seconds: step.seconds, loss_ratio });
        let verdict = match short_trials::classify(&goal, &self.short) {
            Bound::Lower => Verdict::Passed,
            Bound::Upper => Verdict::Failed,
            Bound::Undecided => {
                self.pending = Some(step);
                return;
            }
        };
        self.short.clear();
        self.standings.hear(step.rate, longest, verdict);
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The rate that fresh trials confirmed, if they did.
    pub fn confirmed(&self) -> Option<f64> {
        self.confirmed
    }

    /// What is known by now.
    pub fn bracket(&self) -> Bracket {
        self.standings.bracket()
    }

    fn confirm(&mut self, mut confirmation: Confirmation, step: Step, outcome: Outcome) {
        if step.purpose == Purpose::Check {
            // A rate that cannot be decided says nothing about the order of rates.
            if outcome != Outcome::Undecided {
                self.standings.hear(step.rate, step.seconds, Verdict::of(outcome));
            }
        }
        match confirmation.hear(step, outcome) {
            Answer::Open => self.confirmation = Some(confirmation),
            Answer::Confirmed => {
                self.standings.hear(confirmation.rate, step.seconds, Verdict::Passed);
                self.confirmed = Some(confirmation.rate);
            }
            Answer::Refused(verdict) => {
                self.standings.hear(confirmation.rate, step.seconds, verdict);
                let down = STEP_DOWN.max(1.0 / self.settings.precision);
                self.begin_confirmation(readable(confirmation.rate * down));
            }
            // A lower rate failed: the search goes on below it.
            Answer::Disproved => {}
        }
    }

    /// What follows from the standings: a step, or the end.
    fn decide(&mut self) -> Result<Step, Ending> {
        let Bracket { low, not_shown, high, .. } = self.bracket();
        let most = self.most();
        match (low, not_shown) {
            (None, None) => Ok(self.step(self.settings.start.min(most), 2.0, Purpose::Expand)),
            (Some(low), None) if low >= most * (1.0 - SAME) => {
                self.finish(low, Ending::LimitReached)
            }
            (Some(low), None) => Ok(self.step((2.0 * low).min(most), 2.0, Purpose::Expand)),
            (None, Some(above)) if above <= self.least() => Err(Ending::NothingPasses),
            (None, Some(above)) => Ok(self.step(above / 2.0, 2.0, Purpose::Expand)),
            (Some(low), Some(above)) => match self.narrow(low, above, high) {
                Some(step) => Ok(step),
                None => self.finish(low, Ending::Bracketed),
            },
        }
    }

    /// The next step between the ends, or `None` when they are near enough and both well founded.
    fn narrow(&self, low: f64, above: f64, high: Option<f64>) -> Option<Step> {
        let precision = self.settings.precision * (1.0 + SAME);
        if above / low > precision {
            return Some(self.step((low * above).sqrt(), above / low, Purpose::Narrow));
        }
        let seconds = self.settings.longest;
        let longest = |rate| Step { rate: self.offered(rate), seconds, purpose: Purpose::Retest };
        if self.standings.seconds(above) < self.settings.longest {
            return Some(longest(above));
        }
        let open = self.standings.largest_undecided(high);
        match (open, high) {
            (Some(open), None) if open < self.most() * (1.0 - SAME) => {
                let rate = open * self.settings.precision.powi(2);
                Some(Step { purpose: Purpose::Expand, ..longest(rate) })
            }
            (Some(open), Some(high)) if high / open > precision => {
                Some(Step { purpose: Purpose::Narrow, ..longest((open * high).sqrt()) })
            }
            (_, Some(high)) if self.standings.seconds(high) < self.settings.longest => {
                Some(longest(high))
            }
            _ => None,
        }
    }

    /// Confirms the low end, or ends.
    fn finish(&mut self, low: f64, ending: Ending) -> Result<Step, Ending> {
        let is_confirmed = self.confirmed.is_some_and(|rate| (rate / low - 1.0).abs() < SAME);
        // On a noisy host a rate has been tried many times already.
        if is_confirmed || self.settings.confirmations == 0 || self.settings.noisy_host {
            let known = ending != Ending::Bracketed || self.bracket().high.is_some();
            return Err(if known { ending } else { Ending::LimitReached });
        }
        self.begin_confirmation(low);
        let first = self.confirmation.as_ref().and_then(Confirmation::next_step);
        first.ok_or(Ending::Exhausted)
    }

    fn begin_confirmation(&mut self, rate: f64) {
        let settings = &self.settings;
        let seed = settings.seed.wrapping_add(self.trials as u64);
        let mut confirmation =
            Confirmation::new(rate, settings.longest, settings.confirmations, seed);
        confirmation.keep_below(self.most());
        self.confirmation = Some(confirmation);
    }

    /// A trial as long as telling this rate from the ends of a bracket takes, and as the operations wanted
    /// take. `ratio`: of the ends, the rate being in their middle.
    fn step(&self, rate: f64, ratio: f64, purpose: Purpose) -> Step {
        let settings = &self.settings;
        let share = (settings.precision - 1.0) / (ratio.sqrt() - 1.0);
        let wanted = (settings.longest * share * share).max(settings.operations / rate);
        // Whole tenths of a second: lengths are written down, too.
        let wanted = (10.0 * wanted).ceil() / 10.0;
        let within = wanted.min(settings.longest).max(settings.shortest);
        let seconds = if settings.noisy_host { settings.shortest } else { within };
        Step { rate: self.offered(rate), seconds, purpose }
    }

    fn most(&self) -> f64 {
        self.settings.most.unwrap_or(f64::INFINITY)
    }

    /// At and below this rate there is no going down: half of it holds too few operations, or is too little of the
    /// first rate.
    fn least(&self) -> f64 {
        let settings = &self.settings;
        let longest = if settings.noisy_host { settings.shortest } else { settings.longest };
        let too_few = (2.0 * settings.fewest / longest) * (1.0 - SAME);
        too_few.max(settings.start * 2_f64.powi(-HALVINGS))
    }

    /// The rate in four digits, except that the greatest allowed is offered as it is.
    fn offered(&self, rate: f64) -> f64 {
        let most = self.most();
        if rate >= most * (1.0 - SAME) { most } else { readable(rate).min(most) }
    }
}

/// Four significant digits: rates are written down, and nobody can offer more.
fn readable(rate: f64) -> f64 {
    let digits = 3 - rate.log10().floor() as i32;
    let unit = 10_f64.powi(digits.abs());
    if digits > 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}

#[cfg(test)]
mod tests;
