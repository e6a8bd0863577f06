//! The search for the highest rate that meets the criteria: told how each trial ended, it says which rate to
//! try next and for how long.
//!
//! A state machine without a clock, so that the same search runs against a simulation and against a target.
//! Its course: expand by twos until a rate does not pass; halve the bracket (geometrically) until its ends are
//! as near as wished; then narrow the stretch between the last rate that was not shown to fail and the first
//! that was; then confirm the low end, and go down where that is refused, each time twice as far. Trials grow as
//! the bracket narrows, because two rates can be told apart the better the longer each is tried: the error falls
//! with the square root of the length.
//!
//! - The longest trial at a rate speaks for it; equally long ones speak together.
//! - A rate that passed and failed, or passed and was not confirmed, is noise around the capacity: it lies between the
//!   ends, is neither of them, and nothing is halved below it. Once there is such a rate, the high end must have
//!   failed three times; and where a higher one passes, fresh trials decide which of the two was chance.
//! - So many trials bring the ends together, and no more.
//! - On a noisy host every trial is short, and many of them at a rate speak for it together.
//! - Undecided: tried again for twice as long; at the longest, it counts as not passed.
//! - Invalid (the generator spoiled it): repeated, and never a failure. Where three in a row are, a rate that the
//!   generator never made is beyond it; before it has made any, half of the rate is tried.
//! - Of rates in disorder the smallest that fails is the upper end, and the largest that passes below all that do not
//!   the lower one.
//!
//! Source: expansion, confirmation and the handling of disorder after MLPerf LoadGen and MLRsearch
//! (draft-ietf-bmwg-mlrsearch); lengths and the two ends are ours.

mod confirmation;
mod standing;
mod terms;

use confirmation::{Answer, Confirmation};
use standing::Standings;
pub use terms::{
    Bracket, NoFurther, Purpose, SearchEnding, SearchSettings, SearchStep, StepOutcome,
};

use super::short_trials::{self, Goal, LoadVerdict};

/// The search.
#[derive(Debug, Clone)]
pub struct Search {
    settings: SearchSettings,
    standings: Standings,
    /// What must come next: the same again, longer or repeated.
    pending: Option<SearchStep>,
    /// Trials at the rate at hand, on a noisy host.
    short: Vec<short_trials::ShortTrial>,
    confirmation: Option<Confirmation>,
    confirmed: Option<f64>,
    /// Trials that brought the ends together.
    narrowed: u32,
    /// Trials above all that were tried, to find a rate that fails.
    raised: i32,
    /// Trials told of.
    trials: usize,
    /// Spoiled in a row.
    spoiled: u32,
    /// How often the first rate was halved because the generator did not make it.
    lowered: u32,
    /// Greatest rate that the generator has made.
    fastest: f64,
    ending: Option<SearchEnding>,
}

/// Spoiled trials in a row after which a rate is given up.
const SPOILED: u32 = 3;
/// Halvings of a first rate that the generator does not make, before something else is held to spoil it.
const LOWERED: u32 = 3;
/// By at most this share of a rate it is gone down the first time that one is not confirmed, and by at most that the
/// last time.
const DOWN: (f64, f64) = (0.03, 0.5);
/// Failures that the high end must have once a rate has passed and failed.
const FAILURES: u32 = 3;
/// Halvings of the first rate before nothing is held to pass.
const HALVINGS: i32 = 12;
/// Share of the time that may be bad on a noisy host.
const EXCEED: f64 = 0.5;
/// Two rates this near are one.
const SAME: f64 = 1e-9;

impl Search {
    /// A search that has seen nothing.
    pub fn new(settings: SearchSettings) -> Self {
        Self {
            settings,
            standings: Standings::default(),
            pending: None,
            short: Vec::new(),
            confirmation: None,
            confirmed: None,
            narrowed: 0,
            raised: 0,
            trials: 0,
            spoiled: 0,
            lowered: 0,
            fastest: 0.0,
            ending: None,
        }
    }

    /// What to try next; `None` when the search has ended.
    pub fn next_step(&mut self) -> Option<SearchStep> {
        if self.ending.is_none() && self.trials >= self.settings.most_trials {
            self.ending = Some(SearchEnding::Exhausted);
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
    pub fn report(&mut self, step: SearchStep, outcome: StepOutcome) {
        self.trials += 1;
        self.pending = None;
        if outcome == StepOutcome::Invalid {
            return self.report_spoiled(step);
        }
        self.spoiled = 0;
        self.fastest = self.fastest.max(step.rate);
        if self.settings.noisy_host {
            return self.report_short(step, outcome);
        }
        self.count(step);
        let is_longest = step.seconds >= self.settings.longest;
        if outcome == StepOutcome::Undecided && !is_longest {
            let seconds = (2.0 * step.seconds).min(self.settings.longest);
            self.pending = Some(SearchStep { seconds, ..step });
            return;
        }
        match self.confirmation.take() {
            Some(confirmation) => self.confirm(confirmation, step, outcome),
            None => self.standings.hear(step.rate, step.seconds, outcome),
        }
    }

    /// What trials between and above the ends have cost so far.
    fn count(&mut self, step: SearchStep) {
        let Bracket { low, not_shown, .. } = self.bracket();
        match step.purpose {
            Purpose::Narrow | Purpose::Retest => self.narrowed += 1,
            Purpose::Expand if low.is_some() && not_shown.is_some() => self.raised += 1,
            _ => {}
        }
    }

    /// The same again, up to a point: then a rate that was never made is beyond the generator, and whatever spoils one
    /// that was made does not go away.
    fn report_spoiled(&mut self, step: SearchStep) {
        self.spoiled += 1;
        if self.spoiled < SPOILED {
            self.pending = Some(step);
        } else if self.fastest > 0.0 {
            let is_made = step.rate <= self.fastest;
            self.ending =
                Some(if is_made { SearchEnding::Spoiled } else { SearchEnding::GeneratorLimited });
        } else if self.lowered < LOWERED && step.rate > self.least() {
            // Nothing was made yet, so that nothing is known of what it can.
            self.lowered += 1;
            self.spoiled = 0;
            self.settings.start = step.rate / 2.0;
        } else {
            self.ending = Some(SearchEnding::Spoiled);
        }
    }

    /// One of many trials at a rate; what does not pass is bad.
    fn report_short(&mut self, step: SearchStep, outcome: StepOutcome) {
        let SearchSettings { shortest, longest, .. } = self.settings;
        let goal = Goal {
            final_seconds: shortest,
            seconds_in_all: longest,
            loss_ratio: 0.0,
            exceed_ratio: EXCEED,
        };
        let loss_ratio = if outcome == StepOutcome::Passed { 0.0 } else { 1.0 };
        self.short.push(short_trials::ShortTrial { seconds: step.seconds, loss_ratio });
        let verdict = match short_trials::classify(&goal, &self.short) {
            LoadVerdict::Lower => StepOutcome::Passed,
            LoadVerdict::Upper => StepOutcome::Failed,
            LoadVerdict::Undecided => {
                self.pending = Some(step);
                return;
            }
        };
        self.short.clear();
        self.count(step);
        self.standings.hear(step.rate, longest, verdict);
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Option<SearchEnding> {
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

    /// Why the ends of a search that has both are farther apart than asked for; `None` where they are not.
    pub fn no_further(&self) -> Option<NoFurther> {
        let Bracket { low, not_shown, high, .. } = self.bracket();
        let (low, above, high) = (low?, not_shown?, high?);
        let below = self.standings.below(Some(high))?;
        let is_far = |low: f64, high: f64| high / low > self.settings.precision * (1.0 + SAME);
        if self.ending != Some(SearchEnding::Bracketed) {
            None
        } else if is_far(low, high) && self.standings.is_contested_between(low, high) {
            Some(NoFurther::Contested)
        } else {
            (is_far(low, above) || is_far(below, high)).then_some(NoFurther::Spent)
        }
    }

    fn confirm(&mut self, mut confirmation: Confirmation, step: SearchStep, outcome: StepOutcome) {
        let is_above = step.purpose == Purpose::Check && step.rate > confirmation.rate;
        // A rate that cannot be decided says nothing about the order of rates.
        if is_above && outcome != StepOutcome::Undecided {
            self.standings.hear(step.rate, step.seconds, outcome);
        }
        let answer = confirmation.hear(step, outcome);
        let Confirmation { rate, tally, below, .. } = confirmation;
        match answer {
            Answer::Open => self.confirmation = Some(confirmation),
            Answer::Confirmed => {
                self.standings.settle(rate, step.seconds, tally, true);
                self.confirmed = Some(rate);
            }
            Answer::Refused => {
                self.standings.settle(rate, step.seconds, tally, false);
                self.go_down(rate);
            }
            Answer::Disproved(lower) => {
                self.standings.settle(lower, step.seconds, below, false);
                self.go_down(lower);
            }
        }
    }

    /// The next rate to confirm below one that was not, each time twice as far away: noise is left behind in a few
    /// steps, however wide it is. A rate that was confirmed before stays the low end.
    fn go_down(&mut self, rate: f64) {
        if self.confirmed.is_some() {
            return;
        }
        let (first, most) = DOWN;
        let first = first.min(1.0 - 1.0 / self.settings.precision);
        let down = (first * 2_f64.powi(self.refused() as i32 - 1)).min(most);
        let lower = readable(rate * (1.0 - down));
        if lower < self.least() / 2.0 {
            self.ending = Some(SearchEnding::NothingPasses);
        } else {
            self.begin_confirmation(lower);
        }
    }

    /// What follows from the standings: a step, or the end.
    fn decide(&mut self) -> Result<SearchStep, SearchEnding> {
        let Bracket { low, not_shown, high, .. } = self.bracket();
        let most = self.most();
        match (low, not_shown) {
            (None, None) => Ok(self.step(self.settings.start.min(most), 2.0, Purpose::Expand)),
            (Some(low), None) if low >= most * (1.0 - SAME) => {
                self.finish(low, SearchEnding::LimitReached)
            }
            (Some(low), None) => Ok(self.step((2.0 * low).min(most), 2.0, Purpose::Expand)),
            (None, Some(above)) if above <= self.least() => Err(SearchEnding::NothingPasses),
            (None, Some(above)) => Ok(self.step(above / 2.0, 2.0, Purpose::Expand)),
            (Some(_), Some(above)) if self.is_in_doubt(above) => self.settle(above),
            (Some(low), Some(above)) => match self.narrow(low, above, high) {
                Some(step) => Ok(step),
                None => self.finish(low, SearchEnding::Bracketed),
            },
        }
    }

    /// The next step between the ends, or `None` when they are near enough and both well founded, or are to be brought
    /// no nearer.
    fn narrow(&self, low: f64, above: f64, high: Option<f64>) -> Option<SearchStep> {
        let settings = &self.settings;
        let precision = settings.precision * (1.0 + SAME);
        let seconds = settings.longest;
        let longest =
            |rate, purpose| Some(SearchStep { rate: self.offered(rate), seconds, purpose });
        let is_spent = self.is_spent();
        if !is_spent && self.refused() == 0 && !self.standings.is_contested(above) {
            if above / low > precision {
                return Some(self.step((low * above).sqrt(), above / low, Purpose::Narrow));
            }
            if self.standings.seconds(above) < seconds {
                return longest(above, Purpose::Retest);
            }
        }
        let below = self.standings.below(high)?;
        let Some(high) = high else {
            // Twice as far each time, too.
            let up = settings.precision.powi(2 << self.raised.min(16)).min(2.0);
            let is_allowed = below < self.most() * (1.0 - SAME);
            return is_allowed.then(|| longest(below * up, Purpose::Expand)).flatten();
        };
        let is_shaken = self.standings.is_noisy() && self.standings.failures(high) < FAILURES;
        if is_spent {
            None
        } else if high / below > precision {
            longest((below * high).sqrt(), Purpose::Narrow)
        } else if self.standings.seconds(high) < seconds || is_shaken {
            longest(high, Purpose::Retest)
        } else {
            None
        }
    }

    /// Confirms the low end, or ends.
    fn finish(&mut self, low: f64, ending: SearchEnding) -> Result<SearchStep, SearchEnding> {
        let is_confirmed = self.confirmed.is_some_and(|rate| (rate / low - 1.0).abs() < SAME);
        // On a noisy host a rate has been tried many times already.
        if is_confirmed || self.settings.confirmations == 0 || self.settings.noisy_host {
            let known = ending != SearchEnding::Bracketed || self.bracket().high.is_some();
            return Err(if known { ending } else { SearchEnding::LimitReached });
        }
        self.settle(low)
    }

    fn is_spent(&self) -> bool {
        self.narrowed >= self.settings.narrowing
    }

    /// How many rates were not confirmed.
    fn refused(&self) -> usize {
        self.standings.refused()
    }

    /// Whether this rate passed and failed, and a higher one passed: one of the two was chance.
    fn is_in_doubt(&self, rate: f64) -> bool {
        let is_asked = self.settings.confirmations > 0 && !self.is_spent();
        is_asked && self.bracket().in_disorder && self.standings.is_unsettled(rate)
    }

    /// Fresh trials say whether the rate holds.
    fn settle(&mut self, rate: f64) -> Result<SearchStep, SearchEnding> {
        self.begin_confirmation(rate);
        let first = self.confirmation.as_ref().and_then(Confirmation::next_step);
        first.ok_or(SearchEnding::Exhausted)
    }

    fn begin_confirmation(&mut self, rate: f64) {
        let settings = &self.settings;
        let seed = settings.seed.wrapping_add(self.trials as u64);
        let Bracket { not_shown, high, .. } = self.bracket();
        let above = high.or(not_shown).filter(|above| *above > rate);
        let (seconds, many) = (settings.longest, settings.confirmations);
        let mut confirmation = Confirmation::new(rate, above, seconds, many, seed);
        confirmation.keep_within(self.confirmed.unwrap_or(0.0), self.most());
        self.confirmation = Some(confirmation);
    }

    /// A trial as long as telling this rate from the ends of a bracket takes, and as the operations wanted
    /// take. `ratio`: of the ends, the rate being in their middle.
    fn step(&self, rate: f64, ratio: f64, purpose: Purpose) -> SearchStep {
        let settings = &self.settings;
        let share = (settings.precision - 1.0) / (ratio.sqrt() - 1.0);
        let wanted = (settings.longest * share * share).max(settings.operations / rate);
        // Whole tenths of a second: lengths are written down, too.
        let wanted = (10.0 * wanted).ceil() / 10.0;
        let within = wanted.min(settings.longest).max(settings.shortest);
        let seconds = if settings.noisy_host { settings.shortest } else { within };
        SearchStep { rate: self.offered(rate), seconds, purpose }
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

/// Four significant digits: rates are written down, and more digits have no use.
fn readable(rate: f64) -> f64 {
    let digits = 3 - rate.log10().floor() as i32;
    let unit = 10_f64.powi(digits.abs());
    if digits > 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}

#[cfg(test)]
mod tests;
