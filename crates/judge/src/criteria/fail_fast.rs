//! `--fail-fast`: whether a criterion can still be met, however the rest of the plan goes.
//!
//! The closed windows and the number of remaining operations give the least and the greatest value that a count, a
//! rate or a ratio can end with. If no value between them meets the criterion, it is lost. A quantile is lost when
//! the operations beyond the bound are enough for the whole run to miss it even if no other follows, with the
//! greatest dispersion that the rest could cause: it is not yet known how bursts come, and a run that would end
//! undecided must not fail. A criterion is never given up if windows lack its value (means, items, spans), or if it
//! is a quantile of a load whose number of operations is unknown beforehand.

use std::collections::BTreeSet;

use plan::criterion::{Count, CountedPart, Criterion, Metric, Operator, Rate, RatioSide, Time};
use plan::load::Stop;
use plan::plan::{Plan, TrialPlan};
use plan::plan_share::PlanShare;
use plan::planned_counts;
use record::Window;
use stats::dispersion::Dispersion;
use stats::proportion::{self, LimitSide};
use stats::quantile;

use super::long_windows::{LongWindows, Tally, TimeThreshold};
use super::scope::{Scope, Scopes, bound_ns};
use plan::number;

/// Which criteria of a plan can still be met, while its trials are executed.
#[derive(Debug)]
pub struct FailFast {
    criteria: Vec<CriterionProgress>,
    /// Blocks that compare an arm with itself; they are ignored here.
    aside: BTreeSet<u32>,
    /// Trials of the plan; repetitions have higher numbers.
    trials: usize,
}

/// A criterion that can no longer be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostCriterion {
    /// The criterion, as written.
    pub criterion: String,
    /// Why, in one sentence.
    pub why: String,
}

/// How a criterion stands in one arm, from the closed windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The criterion, as written.
    pub criterion: String,
    /// What was seen so far, in words.
    pub seen: String,
    /// Why it can no longer be met, if it cannot.
    pub lost: Option<String>,
}

/// One criterion in one arm.
#[derive(Debug)]
struct CriterionProgress {
    criterion: Criterion,
    /// Position of the arm in the plan.
    arm: usize,
    /// Whether a trial of that arm is being executed.
    current: bool,
    scopes: Scopes,
    threshold: TimeThreshold,
    planned: PlannedCounts,
    /// The closed windows of each trial that counts.
    parts: Vec<TrialProgress>,
    /// All of that together.
    seen: Tally,
    long_windows: LongWindows,
    /// Why it can no longer be met, if it cannot.
    lost: Option<String>,
}

/// The closed windows of one trial.
#[derive(Debug)]
struct TrialProgress {
    index: u32,
    block: u32,
    tally: Tally,
    /// Windows that had operations, up to [`FILLED_MOST`].
    filled: BTreeSet<u64>,
}

/// Windows with operations that are remembered for each trial, at most.
const FILLED_MOST: usize = 16;

/// Planned numbers for all trials of an arm; `None` where they are unknown beforehand.
#[derive(Debug, Clone, Copy)]
struct PlannedCounts {
    whole: Option<u64>,
    sides: [Option<u64>; 2],
    seconds: Option<f64>,
    /// Of the bounds that the criterion is judged by.
    confidence: f64,
}

/// The least and the greatest value that a metric can end with.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low: f64,
    high: f64,
}

impl FailFast {
    /// Before the first trial.
    ///
    /// Cost: a walk through the schedule of every trial that has a criterion
    pub fn new(plan: &Plan) -> Self {
        let mut criteria = Vec::new();
        for (place, arm) in plan.arms.iter().enumerate() {
            let asked = plan.criteria.iter();
            let asked: Vec<(&Criterion, Scopes)> =
                asked.filter_map(|one| Some((one, Scopes::of(one, arm)?))).collect();
            if asked.is_empty() {
                continue;
            }
            let numbers = numbers(plan, place);
            for (criterion, scopes) in asked {
                criteria.push(CriterionProgress {
                    criterion: criterion.clone(),
                    arm: place,
                    current: false,
                    scopes,
                    threshold: threshold(criterion),
                    planned: PlannedCounts::of(plan, place, scopes, numbers.as_deref()),
                    parts: Vec::new(),
                    seen: Tally::default(),
                    long_windows: LongWindows::new(criterion),
                    lost: None,
                });
            }
        }
        let blocks = plan.trials.iter().map(|trial| trial.block);
        let aside = blocks.filter(|&block| plan.is_aa(block)).collect();
        Self { criteria, aside, trials: plan.trials.len() }
    }

    /// Begins a trial whose recorded windows have this length, or both trials of a duet. The repetition of a trial
    /// discards the earlier results of its block.
    pub fn begin(&mut self, trials: &[TrialPlan], window_ns: u64) {
        for progress in &mut self.criteria {
            progress.current = false;
            progress.lost = None;
            progress.long_windows.begin(window_ns);
        }
        for trial in trials {
            let counts = !self.aside.contains(&trial.block);
            let first = if trial.index as usize > self.trials { self.trials } else { 0 };
            for progress in &mut self.criteria {
                progress.put_aside(trial.block, first);
            }
            for progress in self.criteria.iter_mut().filter(|one| counts && one.arm == trial.arm) {
                progress.current = true;
                let (index, block) = (trial.index, trial.block);
                let (tally, filled) = Default::default();
                progress.parts.push(TrialProgress { index, block, tally, filled });
            }
        }
    }

    /// Adds a stored window of a trial that was executed earlier. It may come several times, each time with a
    /// different part. No criterion is given up here: the run did not give up in that trial either.
    pub fn recall(&mut self, window: &Window) {
        for progress in self.criteria.iter_mut().filter(|one| one.current) {
            let (criterion, scopes) = (&progress.criterion, progress.scopes);
            progress.take(window.number, &Tally::of(window, criterion, scopes, progress.threshold));
        }
    }

    /// Adds a closed window of the trial of this arm; returns the criteria that it makes impossible to meet.
    pub fn add(&mut self, arm: usize, window: &Window) -> Vec<LostCriterion> {
        let current = self.criteria.iter_mut().filter(|one| one.current && one.lost.is_none());
        current.filter(|one| one.arm == arm).filter_map(|progress| progress.add(window)).collect()
    }

    /// How the criteria of this arm stand.
    pub fn standings(&self, arm: usize) -> Vec<Standing> {
        let own = self.criteria.iter().filter(|one| one.arm == arm);
        own.map(|one| Standing {
            criterion: one.criterion.text.clone(),
            seen: one.seen_so_far(),
            lost: one.lost.clone(),
        })
        .collect()
    }
}

impl CriterionProgress {
    fn take(&mut self, window: u64, tally: &Tally) {
        self.seen.add(tally);
        if let Some(current) = self.parts.last_mut() {
            current.tally.add(tally);
            if tally.timed + tally.lost > 0 && current.filled.len() < FILLED_MOST {
                current.filled.insert(window);
            }
        }
    }

    /// Discards results of a block from trials with numbers up to this one.
    fn put_aside(&mut self, block: u32, up_to: usize) {
        self.parts.retain(|part| part.block != block || part.index as usize > up_to);
        self.seen = Tally::default();
        self.parts.iter().for_each(|part| self.seen.add(&part.tally));
    }

    fn add(&mut self, window: &Window) -> Option<LostCriterion> {
        let tally = Tally::of(window, &self.criterion, self.scopes, self.threshold);
        self.take(window.number, &tally);
        let place = usize::try_from(window.number).ok()?;
        self.long_windows.add(place, &tally);
        let why = match self.criterion.over {
            Some(_) => self.missed_window(place),
            None => self.hopeless(),
        }?;
        self.lost = Some(why.clone());
        let text = &self.criterion.text;
        let why = format!("`{text}` can no longer be met: {why}");
        Some(LostCriterion { criterion: text.clone(), why })
    }

    /// Each window must meet the criterion, so one that does not is enough.
    fn missed_window(&self, place: usize) -> Option<String> {
        let per = self.long_windows.per();
        let whole = per > 0 && (place + 1).is_multiple_of(per);
        let missed = whole && self.long_windows.meets(&self.criterion, place / per) == Some(false);
        let length = self.criterion.over.filter(|_| missed)?;
        let from = length.as_nanos() * (place / per) as u128;
        let from = number::duration(u64::try_from(from).unwrap_or(u64::MAX));
        Some(format!("the window from {from} misses it"))
    }

    fn hopeless(&self) -> Option<String> {
        if let Metric::Quantile(q) = self.criterion.metric {
            return self.quantile(q);
        }
        let range = self.range();
        let bound = self.criterion.bound;
        let shown = |value| number::in_unit_of(&self.criterion.text, value);
        let comparison = self.criterion.comparison;
        let reachable = comparison.holds(range.low, bound)
            || comparison.holds(range.high, bound)
            || (range.low <= bound && bound <= range.high && comparison.holds(bound, bound));
        if reachable {
            return None;
        }
        let too_high = comparison.caps() || (comparison == Operator::Equal && range.low > bound);
        Some(match (too_high, range.low.is_finite()) {
            (true, true) => format!("it is already at least {}", shown(range.low)),
            (true, false) => "an operation never succeeded".to_owned(),
            (false, _) => format!("it can reach at most {}", shown(range.high)),
        })
    }

    /// Nearest rank: at most n − ⌈q·n⌉ of n operations may lie beyond the bound. The criterion is lost when the
    /// confidence bound over all planned operations would miss it, however the rest disperses them.
    fn quantile(&self, q: f64) -> Option<String> {
        if !self.is_seen() {
            return None;
        }
        let planned = self.planned.whole?.max(self.seen.planned);
        let beyond = beyond(&self.seen);
        let allowed = planned - quantile::rank(q, planned);
        let left = planned - self.seen.planned;
        let (phi, confidence) = (self.greatest_dispersion(planned, q)?, self.planned.confidence);
        let side = |beyond| proportion::judge(beyond, planned, phi, 1.0 - q, confidence);
        let bound = number::duration(bound_ns(&self.criterion));
        let (seen, name) = (number::count(beyond), number::percentile(q));
        let (of, limit) = (number::count(planned), number::count(allowed));
        if self.criterion.comparison.caps() {
            (side(beyond) == LimitSide::Above).then(|| {
                format!("{seen} operations are beyond {bound}, and {name} allows {limit} of {of}")
            })
        } else {
            (side(beyond + left) == LimitSide::Below).then(|| {
                format!("{seen} operations are beyond {bound}, and {name} needs more than {limit} of {of}")
            })
        }
    }

    /// The greatest dispersion that the whole run can show.
    fn greatest_dispersion(&self, planned: u64, q: f64) -> Option<f64> {
        let filled = self.parts.iter().map(|part| part.filled.len()).sum();
        Dispersion::greatest(planned, filled, 1.0 - q)
    }

    fn seen_so_far(&self) -> String {
        let seen = &self.seen;
        if seen.planned == 0 {
            return String::new();
        }
        if let Metric::Quantile(q) = self.criterion.metric {
            if !self.is_seen() || self.criterion.over.is_some() {
                return String::new();
            }
            let ended = (seen.timed + seen.lost).max(1) as f64;
            let allowed = if self.criterion.comparison.caps() { "allowed" } else { "needed" };
            return format!(
                "{} beyond {}, {} {allowed}",
                number::percent(beyond(seen) as f64 / ended),
                number::duration(bound_ns(&self.criterion)),
                number::percent(1.0 - q)
            );
        }
        match self.criterion.metric {
            // The least that they can end with is what was seen.
            Metric::Count(_) | Metric::Max if self.range().low.is_finite() => {
                let low = self.range().low;
                format!("{} so far", number::in_unit_of(&self.criterion.text, low))
            }
            _ => String::new(),
        }
    }

    /// Whether windows record this time.
    fn is_seen(&self) -> bool {
        matches!(self.criterion.time, Time::Response | Time::Service)
    }

    fn range(&self) -> Range {
        match &self.criterion.metric {
            Metric::Max if self.is_seen() && self.seen.lost > 0 => Range::from(f64::INFINITY),
            Metric::Max if self.is_seen() => Range::from(self.seen.max as f64),
            Metric::Count(count) => self.count(*count),
            Metric::Rate(rate) => self.rate(*rate),
            Metric::Ratio(over, under) => self.ratio(over, under),
            Metric::Max | Metric::Mean | Metric::Quantile(_) => Range::ANY,
        }
    }

    fn count(&self, count: Count) -> Range {
        let seen = &self.seen;
        let whole = self.planned.whole.map(|planned| planned.max(seen.planned));
        let left = whole.map_or(f64::INFINITY, |whole| (whole - seen.planned) as f64);
        let (known, unsure) = match count {
            Count::Planned => return self.planned_range(),
            Count::Succeeded => (seen.succeeded, 0),
            Count::Failed => (seen.failed, 0),
            Count::FailedAs(kind) => (seen.failures.named(kind), 0),
            // Windows do not distinguish operations that were never begun from abandoned ones.
            Count::Started => (seen.succeeded + seen.failed, seen.lost - seen.failed),
            Count::Missed | Count::Abandoned => (0, seen.lost - seen.failed),
        };
        Range { low: known as f64, high: (known + unsure) as f64 + left }
    }

    fn planned_range(&self) -> Range {
        let seen = self.seen.planned;
        match self.planned.whole {
            Some(whole) => Range { low: whole.max(seen) as f64, high: whole.max(seen) as f64 },
            None => Range::from(seen as f64),
        }
    }

    /// Operations that end after the phase count in no rate but the offered one, so there is no certain lower bound.
    fn rate(&self, rate: Rate) -> Range {
        let Some(seconds) = self.planned.seconds else { return Range::ANY };
        let most = match rate {
            Rate::Offered => self.planned_range().high,
            Rate::Started => self.count(Count::Started).high,
            Rate::Completed => self.count(Count::Succeeded).high + self.seen.failed as f64,
            Rate::Goodput => self.count(Count::Succeeded).high,
        };
        Range { low: 0.0, high: most / seconds }
    }

    fn ratio(&self, over: &RatioSide, under: &RatioSide) -> Range {
        let (over, under) = (self.side(over, 0), self.side(under, 1));
        if over == Range::ANY || under == Range::ANY {
            return Range::ANY;
        }
        let high = if under.low > 0.0 { over.high / under.low } else { f64::INFINITY };
        Range { low: over.low / under.high.max(1.0), high }
    }

    fn side(&self, term: &RatioSide, side: usize) -> Range {
        let seen = self.seen.sides[side] as f64;
        match term.part {
            CountedPart::Count(count) if self.scopes.sides[side] == self.scopes.whole => {
                self.count(count)
            }
            // At most as many as are planned in all.
            CountedPart::Count(
                Count::Planned | Count::Succeeded | Count::Failed | Count::FailedAs(_),
            ) => {
                let planned = self.planned.sides[side].map_or(f64::INFINITY, |all| all as f64);
                Range { low: seen, high: planned.max(seen) }
            }
            CountedPart::Count(_) | CountedPart::Item(_) => Range::ANY,
        }
    }
}

/// Operations beyond the bound, including those that never succeeded.
fn beyond(tally: &Tally) -> u64 {
    tally.above + tally.lost
}

/// Windows know a bound to the width of a bucket: an operation in the bucket of the bound counts for the side that
/// can still meet the criterion.
fn threshold(criterion: &Criterion) -> TimeThreshold {
    let exact = TimeThreshold::at_bound(criterion);
    let is_floor = matches!(criterion.metric, Metric::Quantile(_)) && !criterion.comparison.caps();
    if criterion.over.is_some() || !is_floor {
        return exact;
    }
    // A bucket is at most 1/128 of its values wide.
    let below = exact.threshold.saturating_sub(exact.threshold / 128 + 1);
    TimeThreshold { threshold: below, ..exact }
}

impl Range {
    const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    fn from(low: f64) -> Self {
        Self { low, high: f64::INFINITY }
    }
}

impl PlannedCounts {
    fn of(plan: &Plan, arm: usize, scopes: Scopes, numbers: Option<&[Vec<u64>]>) -> Self {
        let of = |trial: &Vec<u64>, scope: Scope| match scope {
            Some(place) => trial[place],
            None => trial.iter().sum(),
        };
        let all =
            |scope| numbers.map(|trials| trials.iter().map(|trial| of(trial, scope)).sum::<u64>());
        let trials = counted(plan, arm).count();
        let confidence =
            plan.adaptive.as_ref().map_or(quantile::CONFIDENCE, |_| plan::adaptive::CONFIDENCE);
        let seconds = match plan.arms[arm].load.stop {
            Stop::Duration { after } => Some(after.as_secs_f64() * trials as f64),
            Stop::Operations { .. } => None,
        };
        Self { whole: all(scopes.whole), sides: scopes.sides.map(all), seconds, confidence }
    }
}

/// The trials of an arm that a criterion is judged on.
fn counted(plan: &Plan, arm: usize) -> impl Iterator<Item = &TrialPlan> {
    plan.trials.iter().filter(move |trial| trial.arm == arm && !plan.is_aa(trial.block))
}

/// Planned operations of each kind for each trial of this arm; `None` where answers decide how many there are.
fn numbers(plan: &Plan, arm: usize) -> Option<Vec<Vec<u64>>> {
    let of = |trial| planned_counts::of(&plan.arms[arm], trial, PlanShare::WHOLE, None);
    counted(plan, arm).map(of).collect()
}

#[cfg(test)]
mod tests;
