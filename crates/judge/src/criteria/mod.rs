//! Judges criteria.
//!
//! A quantile is judged by how many operations lie beyond the bound, including missed, failed and abandoned ones. x
//! of n operations beyond it, worth n/φ independent ones, give bounds of the share, which must lie on one side of
//! 1−q; if x is small, φ is borrowed from [`levels`] between the median and the bound ([`stats::exceedance`]). Where
//! no steady state is required, levels follow the drift of the trials and φ is the dispersion around it, since the
//! criterion is about runs that drift like this. A mean is judged by its interval, and cannot pass where operations
//! have no time. Counts, ratios and rates are judged on the sample, since no interval could ever show that a count is
//! exactly 0; their interval says what such a run may show by chance. The windows of `over 10s windows` are judged on
//! the sample too, and each of them must meet the criterion.
//!
//! All usable trials of an arm are judged together; a trial that fails alone is named. Counts and ratios need no
//! steady state: a failure in a trial without one is still a failure. They are also judged on a crowded machine.
//! Times and rates of a closed load that waited for its processor are left undecided, and so is their failure where
//! the system waited for its own. Criteria over windows are left undecided where the windows of several machines may
//! be apart. Never a pass: an invalid trial, an overload, a rate that was not reached, no data,
//! a rehearsal.
//!
//! In reading order: `scope` says which operations count; `counts` counts them; `levels` counts below the bound;
//! `long_windows` counts windows; `decision` decides from the sample; this file then restricts the decision by how
//! the trials went, and `findings` explains it. While a trial runs, [`fail_fast`] says whether a criterion can still
//! be met, and [`precision`] whether intervals are narrow enough.

mod counts;
mod decision;
pub mod fail_fast;
mod findings;
mod levels;
mod long_windows;
pub mod precision;
mod scope;
mod trial_state;

use plan::criterion::{Criterion, Metric, TOTAL};
use plan::load::SteadyState;
use plan::plan::{Arm, Plan};
use record::summary::{self, Finding, Judgement, Validity};
use record::{OperationTotals, TrialFacts, Window, WindowSpan};
use stats::running_median::RunningMedian;
use stats::{COARSE, Histogram};

use counts::{All, Counts, time_of};
use decision::Observations;
use levels::{Levels, Segments};
use long_windows::{Tally, TimeThreshold, is_kept, lost_of};
use scope::{Scopes, parts};
pub use trial_state::TrialState;

use crate::distribution::Values;

/// One criterion in one arm, with its counts.
#[derive(Debug, Clone)]
pub struct Evaluation {
    criterion: Criterion,
    arm: String,
    scopes: Scopes,
    /// Names of the items of each operation of the arm.
    items: Vec<Vec<String>>,
    /// Whether it is a quantile of trials that need not be steady, and so may drift.
    drifts: bool,
    /// One per trial of the arm.
    trials: Vec<TrialState>,
    /// The run gave up before all of them were executed.
    cut_short: bool,
    /// Of all usable trials together.
    usable: Counts,
    /// Of the trial that is being added.
    current: Counts,
    threshold: TimeThreshold,
    /// The median that levels below the bound start from: that of the first usable trial, since trials are judged
    /// together.
    median: Option<RunningMedian>,
    /// Of the trial that is being added, if it drifts.
    segments: Segments,
    /// Times in the worst window of the trial that is being added.
    worst: Histogram,
    /// Operations without a time in it.
    worst_lost: u64,
}

/// A judged criterion, and the findings that explain it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCriterion {
    /// For the summary.
    pub criterion: summary::Criterion,
    /// How it could be decided, and which windows and trials failed.
    pub findings: Vec<Finding>,
}

/// Every criterion in every arm that has the criterion's operations.
pub fn evaluations(plan: &Plan) -> Vec<Evaluation> {
    let pairs = plan.criteria.iter().flat_map(|one| plan.arms.iter().map(move |arm| (one, arm)));
    pairs.filter_map(|(criterion, arm)| Evaluation::new(criterion, arm)).collect()
}

fn item_names(arm: &Arm) -> Vec<Vec<String>> {
    let operations = arm.operations.iter();
    operations.map(|one| one.items.iter().map(|item| item.name.clone()).collect()).collect()
}

impl Evaluation {
    fn new(criterion: &Criterion, arm: &Arm) -> Option<Self> {
        Some(Self {
            scopes: Scopes::of(criterion, arm)?,
            items: item_names(arm),
            arm: arm.name.clone(),
            drifts: arm.load.steady_state == SteadyState::Reported
                && criterion.over.is_none()
                && matches!(criterion.metric, Metric::Quantile(_)),
            trials: Vec::new(),
            cut_short: false,
            usable: Counts::new(criterion),
            current: Counts::new(criterion),
            threshold: TimeThreshold::at_bound(criterion),
            median: None,
            segments: Segments::new(0),
            worst: Histogram::new(COARSE),
            worst_lost: 0,
            criterion: criterion.clone(),
        })
    }

    pub(crate) fn is_about(&self, arm: &str) -> bool {
        self.arm == arm
    }

    /// Begins a trial. Its windows follow in any order, then its totals, then its state.
    ///
    /// Most spans are not kept by window: they borrow the dispersion of the service time at the same quantile.
    pub(crate) fn begin_trial(
        &mut self,
        trial: &TrialFacts,
        total: &OperationTotals,
        spans: &[String],
    ) {
        self.current = Counts::new(&self.criterion);
        self.current.long_windows.begin(trial.window_ns);
        let whole = self.scopes.whole.map_or(total, |at| trial.totals.part(at));
        if !is_kept(&self.criterion.time) {
            let q = if let Metric::Quantile(q) = self.criterion.metric { q } else { 0.5 };
            self.threshold.threshold = whole.service_time.quantile(q).unwrap_or(u64::MAX);
        }
        if !matches!(self.criterion.metric, Metric::Quantile(_)) {
            return;
        }
        if self.drifts {
            self.segments = Segments::new(trial.phases.measure_ns.div_ceil(trial.window_ns.max(1)));
            return;
        }
        let kept = match self.threshold.span {
            WindowSpan::ResponseTime => Some(&whole.response_time),
            WindowSpan::ServiceTime => Some(&whole.service_time),
            WindowSpan::FirstEvent | WindowSpan::Gap => time_of(whole, &self.criterion.time, spans),
        };
        let lost = match self.threshold.span {
            WindowSpan::ResponseTime | WindowSpan::ServiceTime => whole.without_time(),
            WindowSpan::FirstEvent | WindowSpan::Gap => 0,
        };
        let median = kept
            .and_then(|times| Values { without_time: lost, ..Values::all(times) }.at_quantile(0.5));
        self.follow(RunningMedian::steady(median.unwrap_or(u64::MAX)));
    }

    /// Uses this median for the levels, unless they use that of an earlier trial.
    fn follow(&mut self, median: RunningMedian) {
        if self.usable.sums.planned == 0 {
            self.median = Some(median);
        }
        let median = self.median.clone();
        let levels = median.map(|median| Levels::new(median, self.threshold.threshold));
        self.current.levels = levels.unwrap_or_default();
    }

    pub(crate) fn add_window(&mut self, window: &Window) {
        let tally = Tally::of(window, &self.criterion, self.scopes, self.threshold);
        self.current.window(window.number, &tally);
        for part in parts(window, self.scopes.whole) {
            let (times, lost) = {
                let span = self.threshold.span;
                (part.histogram(span), lost_of(part, span))
            };
            if self.drifts {
                self.segments.add(window.number, times, lost);
            } else {
                self.current.levels.add(window.number, times, lost);
            }
        }
    }

    pub(crate) fn end_trial(
        &mut self,
        trial: &TrialFacts,
        total: &OperationTotals,
        spans: &[String],
    ) {
        let all = All { totals: &trial.totals, total, spans, items: &self.items };
        let current = &mut self.current;
        current.totals(&self.criterion, self.scopes, &all);
        current.seconds = trial.phases.measure_ns as f64 / 1e9;
        current.confidence = trial.confidence;
        current.long_windows.close(&self.criterion, trial.index, trial.phases.measure_ns);
        self.worst.clear();
        self.worst_lost = 0;
        if self.drifts {
            self.follow(self.segments.medians());
        }
    }

    /// Whether it needs the windows again: to count at levels that follow a drift, or to observe the quantile in the
    /// worst window.
    pub(crate) fn wants_again(&self) -> bool {
        let quantile = matches!(self.criterion.metric, Metric::Quantile(_));
        quantile && (self.drifts || self.current.long_windows.worst().is_some())
    }

    pub(crate) fn add_window_again(&mut self, window: &Window) {
        if self.drifts {
            for part in parts(window, self.scopes.whole) {
                let (times, lost) = {
                    let span = self.threshold.span;
                    (part.histogram(span), lost_of(part, span))
                };
                self.current.levels.add(window.number, times, lost);
            }
        }
        let numbers = self.current.long_windows.worst_numbers();
        if !numbers.is_some_and(|numbers| numbers.contains(&window.number)) {
            return;
        }
        for part in parts(window, self.scopes.whole) {
            if let Some(times) = part.histogram(self.threshold.span) {
                self.worst.merge(times);
            }
            self.worst_lost += lost_of(part, self.threshold.span);
        }
    }

    /// Every window was seen again.
    pub(crate) fn end_again(&mut self) {
        if let Metric::Quantile(q) = self.criterion.metric {
            let total = self.worst.count() + self.worst_lost;
            let seen = self.worst.at_rank(stats::quantile::rank(q, total));
            self.current.long_windows.note_worst(seen.map(|bucket| bucket.high as f64));
        }
    }

    /// Adds the state of the trial, and its counts if it is usable.
    pub(crate) fn close_trial(&mut self, mut state: TrialState) {
        let current = std::mem::replace(&mut self.current, Counts::new(&self.criterion));
        let alone = self.sample(&current).decide().result;
        let crowded = state.is_crowded_for(&self.criterion, self.fails_by_time(alone, &current));
        if !crowded && !state.is_apart_for(&self.criterion) {
            state.alone = alone;
        }
        if state.is_usable() {
            self.usable.merge(current);
        }
        self.trials.push(state);
    }

    /// Ignores the trial, as if it had not been executed.
    pub(crate) fn drop_trial(&mut self) {
        self.current = Counts::new(&self.criterion);
    }

    /// The judgement. Validity comes first, then the data.
    pub fn judge(&self, rehearsal: bool) -> JudgedCriterion {
        let mut decision = self.sample(&self.usable).decide();
        decision.result = self.restricted(decision.result, rehearsal);
        let criterion = summary::Criterion {
            text: self.criterion.text.clone(),
            arm: self.arm.clone(),
            operation: self.operation().to_owned(),
            result: decision.result,
            observed: decision.observed,
            low: decision.low,
            high: decision.high,
            drifting: self.drifts,
        };
        JudgedCriterion { criterion, findings: self.findings(&decision, rehearsal) }
    }

    fn sample<'a>(&'a self, seen: &'a Counts) -> Observations<'a> {
        Observations { criterion: &self.criterion, seen, drifts: self.drifts }
    }

    fn operation(&self) -> &str {
        self.criterion.operation.as_deref().unwrap_or(TOTAL)
    }

    /// The result after restrictions by how the trials went.
    fn restricted(&self, result: Judgement, rehearsal: bool) -> Judgement {
        let any = |validity: Validity| self.trials.iter().any(|one| one.validity == validity);
        let weak = (self.stopped() || rehearsal) && result == Judgement::Pass;
        let unsteady = self.criterion.asks_for_a_steady_state() && any(Validity::NoSteadyState);
        let unsteady = unsteady || self.trials.is_empty();
        let lost = if self.is_given_up() { Judgement::Fail } else { result };
        let fails = self.fails_by_time(lost, &self.usable);
        let crowded = self.trials.iter().any(|one| one.is_crowded_for(&self.criterion, fails));
        let apart = self.trials.iter().any(|one| one.is_apart_for(&self.criterion));
        if any(Validity::Invalid) {
            Judgement::Invalid
        } else if any(Validity::Overload) || (self.is_given_up() && !crowded && !apart) {
            Judgement::Fail
        } else if unsteady || weak || crowded || apart {
            Judgement::Inconclusive
        } else {
            result
        }
    }

    /// Whether it failed for another reason than refused operations; more time would not have changed those.
    fn fails_by_time(&self, result: Judgement, seen: &Counts) -> bool {
        /// A greater share of refused operations counts as the cause where a mean or a rate fails.
        const REFUSED: f64 = 0.01;
        let allowed = match self.criterion.metric {
            Metric::Quantile(q) => 1.0 - q,
            _ => REFUSED,
        };
        let (refused, planned) = (seen.sums.refused() as f64, seen.sums.planned as f64);
        result == Judgement::Fail && refused <= allowed * planned
    }

    /// Whether the run gave up because of this criterion, in a trial that counts.
    pub(crate) fn is_given_up(&self) -> bool {
        self.trials.iter().any(|one| one.gave_up(&self.criterion))
    }

    /// The run gave up, and later trials were not executed.
    pub(crate) fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Whether a trial did not reach its end, or did not begin all that was planned.
    fn stopped(&self) -> bool {
        self.cut_short
            || self.trials.iter().any(|one| one.interrupted || one.cut_short || !one.reached)
    }
}

#[cfg(test)]
mod tests;
