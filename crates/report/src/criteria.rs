//! Criteria: what the result is held against.
//!
//! A quantile is judged by how many operations lie beyond the bound: missed, failed and abandoned ones
//! do. Of n operations x beyond it, worth n/φ independent ones, give bounds of the share, which must lie
//! on one side of 1 − q. Counts, ratios and rates are judged on the sample, since no interval could ever
//! show that a count is exactly nought; their interval says what such a run may show by chance.
//!
//! Never a pass: an invalid trial, an overload, a rate that was not reached, no data, a rehearsal.

use plan::criterion::{Count, Criterion, Metric, Operator, Rate, Term};
use plan::plan::Plan;
use record::summary::{self, Finding, Judgement, Rates, Trial, Validity};
use record::{OperationTotals, OperationWindow, Totals};
use stats::dispersion::{Dispersion, WindowCount};
use stats::proportion::{self, Side};
use stats::{FINE, Histogram};

use crate::findings::{self, Facts};
use crate::number;

/// Confidence of each one-sided bound.
const CONFIDENCE: f64 = 0.95;
/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.96;
/// Share of the plan that must have been begun for any pass.
const REACHED: f64 = 0.99;

/// What is gathered to judge one criterion in one arm.
#[derive(Debug, Clone)]
pub struct Evidence {
    criterion: Criterion,
    arm: String,
    /// One a trial of the arm.
    pub(crate) courses: Vec<Course>,
    sums: Sums,
    response_time: Histogram,
    /// Windows of all trials, one after the other: at the bound, and at the median.
    windows: Vec<WindowCount>,
    first_window: usize,
}

/// How a trial went, as far as criteria care.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    validity: Validity,
    interrupted: bool,
    reached: bool,
    rates: Rates,
    seconds: f64,
    items: Vec<(String, String, f64)>,
}

/// A judged criterion, and the finding that says what would decide it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// For the summary.
    pub criterion: summary::Criterion,
    /// Where it is undecided.
    pub finding: Option<Finding>,
}

/// What the sample says: the answer, what was seen with its interval, and the multiple of the run's
/// length that would decide.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Answer {
    result: Judgement,
    observed: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    factor: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    planned: u64,
    missed: u64,
    succeeded: u64,
    failed: u64,
    abandoned: u64,
    beyond: u64,
}

/// Every criterion in every arm that has its operation.
pub fn questions(plan: &Plan) -> Vec<Evidence> {
    let mut questions = Vec::new();
    for criterion in &plan.criteria {
        for arm in &plan.arms {
            let known = criterion.operation.as_ref().is_none_or(|wanted| {
                arm.operations.iter().any(|operation| operation.name == *wanted)
            });
            if known {
                questions.push(Evidence::new(criterion.clone(), &arm.name));
            }
        }
    }
    questions
}

impl Course {
    /// The course of a trial.
    pub fn of(trial: &Trial, facts: &Facts) -> Self {
        let accounting = &trial.accounting;
        let items = trial.operations.iter().flat_map(|operation| {
            let items = operation.items.iter();
            items.map(|(name, item)| (operation.name.clone(), name.clone(), item.sum))
        });
        Self {
            validity: trial.validity,
            interrupted: facts.interrupted,
            reached: accounting.started as f64 >= REACHED * accounting.planned as f64,
            rates: trial.rates,
            seconds: trial.phases.measure_ns as f64 / 1e9,
            items: items.collect(),
        }
    }
}

impl Evidence {
    fn new(criterion: Criterion, arm: &str) -> Self {
        Self {
            criterion,
            arm: arm.to_owned(),
            courses: Vec::new(),
            sums: Sums::default(),
            response_time: Histogram::new(FINE),
            windows: Vec::new(),
            first_window: 0,
        }
    }

    /// Whether it concerns this arm.
    pub fn is_about(&self, arm: &str) -> bool {
        self.arm == arm
    }

    /// The operation it looks at: its place in the totals, `Some(None)` for all together, `None` if it
    /// is not there.
    pub(crate) fn place(&self, totals: &Totals) -> Option<Option<usize>> {
        match &self.criterion.operation {
            None => Some(None),
            Some(name) => {
                totals.operations.iter().position(|operation| operation.name == *name).map(Some)
            }
        }
    }

    pub(crate) fn begin_trial(&mut self) {
        self.first_window = self.windows.len();
    }

    pub(crate) fn add_window(&mut self, number: u64, parts: &[&OperationWindow]) {
        let Ok(number) = usize::try_from(number) else { return };
        let place = self.first_window + number;
        if self.windows.len() <= place {
            self.windows.resize(place + 1, WindowCount::default());
        }
        let bound = self.bound_ns();
        let count = &mut self.windows[place];
        for part in parts {
            let lost = part.missed + part.failed.iter().map(|(_, count)| count).sum::<u64>();
            let times = part.response_time.as_ref();
            count.total += times.map_or(0, Histogram::count) + lost;
            count.above += times.map_or(0, |times| times.count_above(bound)) + lost;
        }
    }

    pub(crate) fn end_trial(&mut self, totals: &OperationTotals) {
        let lost = totals.missed + totals.failed + totals.abandoned;
        self.sums.planned += totals.planned;
        self.sums.missed += totals.missed;
        self.sums.succeeded += totals.succeeded;
        self.sums.failed += totals.failed;
        self.sums.abandoned += totals.abandoned;
        self.sums.beyond += totals.response_time.count_above(self.bound_ns()) + lost;
        self.response_time.merge(&totals.response_time);
    }

    fn bound_ns(&self) -> u64 {
        self.criterion.bound.max(0.0) as u64
    }

    /// The judgement. Validity comes first, then the data.
    pub fn judge(&self, rehearsal: bool) -> Judged {
        let mut answer = self.answer();
        answer.result = self.restricted(answer.result, rehearsal);
        let criterion = summary::Criterion {
            text: self.criterion.text.clone(),
            arm: self.arm.clone(),
            operation: self.operation().to_owned(),
            result: answer.result,
            observed: answer.observed,
            low: answer.low,
            high: answer.high,
        };
        let undecided = answer.result == Judgement::Inconclusive && !rehearsal;
        Judged { criterion, finding: undecided.then(|| self.undecided(&answer)) }
    }

    fn operation(&self) -> &str {
        self.criterion.operation.as_deref().unwrap_or("all")
    }

    /// What the course of the trials leaves of an answer.
    fn restricted(&self, result: Judgement, rehearsal: bool) -> Judgement {
        let any = |validity: Validity| self.courses.iter().any(|one| one.validity == validity);
        let stopped = self.courses.iter().any(|one| one.interrupted || !one.reached);
        if any(Validity::Invalid) {
            Judgement::Invalid
        } else if any(Validity::Overload) {
            Judgement::Fail
        } else if any(Validity::NoSteadyState) || self.courses.is_empty() {
            Judgement::Inconclusive
        } else if result == Judgement::Pass && (stopped || rehearsal) {
            Judgement::Inconclusive
        } else {
            result
        }
    }

    fn answer(&self) -> Answer {
        if self.courses.is_empty() || self.sums.planned == 0 {
            return Answer::nothing();
        }
        match &self.criterion.metric {
            Metric::Quantile(q) => self.quantile(*q),
            Metric::Mean => self.mean(),
            Metric::Max => self.sampled(self.greatest(), None),
            Metric::Count(count) => self.count(*count),
            Metric::Rate(rate) => self.rate(*rate),
            Metric::Ratio(over, under) => self.ratio(over, under),
        }
    }

    fn quantile(&self, q: f64) -> Answer {
        let dispersion = Dispersion::of(&self.windows);
        let side = proportion::judge(
            self.sums.beyond,
            self.sums.planned,
            dispersion.phi,
            1.0 - q,
            CONFIDENCE,
        );
        let below = matches!(self.criterion.comparison, Operator::Less | Operator::AtMost);
        let above = matches!(self.criterion.comparison, Operator::More | Operator::AtLeast);
        let (result, factor) = match side {
            Side::Undecided { factor } => (Judgement::Inconclusive, factor),
            Side::Below if below => (Judgement::Pass, None),
            Side::Above if above => (Judgement::Pass, None),
            Side::Below | Side::Above => (Judgement::Fail, None),
        };
        let lost = self.sums.planned - self.sums.succeeded.min(self.sums.planned);
        let values = crate::summarize::Values { times: &self.response_time, without_time: lost };
        let seen = values.quantile(q, &dispersion);
        let number = |value: Option<u64>| value.map(|value| value as f64);
        Answer {
            result,
            observed: number(seen.observed_ns),
            low: number(seen.low_ns),
            high: number(seen.high_ns),
            factor,
        }
    }

    /// By the interval of the mean, widened by the dispersion at the bound.
    fn mean(&self) -> Answer {
        let count = self.response_time.count();
        if count == 0 {
            return Answer::nothing();
        }
        let mean = self.response_time.mean();
        let phi = Dispersion::of(&self.windows).phi;
        let half = Z * self.response_time.stdev() * (phi / count as f64).sqrt();
        let (low, high) = (mean - half, mean + half);
        let holds = |value: f64| self.criterion.comparison.holds(value, self.criterion.bound);
        let result = match (holds(low), holds(high)) {
            (true, true) => Judgement::Pass,
            (false, false) => Judgement::Fail,
            _ => Judgement::Inconclusive,
        };
        let gap = (mean - self.criterion.bound).abs();
        let factor = (gap > 0.0).then(|| (half / gap).powi(2));
        Answer { result, observed: Some(mean), low: Some(low), high: Some(high), factor }
    }

    /// The greatest outcome time; none where something never succeeded.
    fn greatest(&self) -> Option<f64> {
        let complete = self.sums.succeeded == self.sums.planned;
        complete.then(|| self.response_time.max() as f64)
    }

    fn count(&self, count: Count) -> Answer {
        let seen = self.counted(count);
        self.sampled(Some(seen), (seen == 0.0).then_some(3.0))
    }

    fn counted(&self, count: Count) -> f64 {
        let sums = &self.sums;
        let value = match count {
            Count::Planned => sums.planned,
            Count::Started => sums.succeeded + sums.failed + sums.abandoned,
            Count::Missed => sums.missed,
            Count::Succeeded => sums.succeeded,
            Count::Failed => sums.failed,
            Count::Abandoned => sums.abandoned,
        };
        value as f64
    }

    /// Mean over trials; of one operation by its share of the counts.
    fn rate(&self, rate: Rate) -> Answer {
        let seconds: f64 = self.courses.iter().map(|course| course.seconds).sum();
        if seconds <= 0.0 {
            return Answer::nothing();
        }
        let of_all = |part: fn(&Rates) -> f64| {
            let products = self.courses.iter().map(|course| part(&course.rates) * course.seconds);
            products.sum::<f64>() / seconds
        };
        let single = self.criterion.operation.is_some();
        let of_one = |count: u64| count as f64 / seconds;
        let sums = &self.sums;
        let seen = match rate {
            Rate::Offered if single => of_one(sums.planned),
            Rate::Started if single => of_one(sums.planned - sums.missed),
            Rate::Completed if single => of_one(sums.succeeded + sums.failed),
            Rate::Goodput if single => of_one(sums.succeeded),
            Rate::Offered => of_all(|rates| rates.offered),
            Rate::Started => of_all(|rates| rates.started),
            Rate::Completed => of_all(|rates| rates.completed),
            Rate::Goodput => of_all(|rates| rates.goodput),
        };
        self.sampled(Some(seen), None)
    }

    fn ratio(&self, over: &Term, under: &Term) -> Answer {
        let (Some(over_seen), Some(under_seen)) = (self.term(over), self.term(under)) else {
            return Answer::nothing();
        };
        if under_seen == 0.0 {
            return Answer::nothing();
        }
        let chance = (over_seen == 0.0).then(|| proportion::rule_of_three(under_seen));
        self.sampled(Some(over_seen / under_seen), chance)
    }

    /// `None` for an item that no answer carried.
    fn term(&self, term: &Term) -> Option<f64> {
        match term {
            Term::Count(count) => Some(self.counted(*count)),
            Term::Item(name) => {
                let wanted = self.criterion.operation.as_deref();
                let items = self.courses.iter().flat_map(|course| &course.items);
                let sums = items.filter(|(operation, item, _)| {
                    item == name && wanted.is_none_or(|wanted| wanted == operation)
                });
                sums.map(|(.., sum)| *sum).reduce(|sum, next| sum + next)
            }
        }
    }

    /// Judged on the sample. Nothing seen at all is no pass of an upper bound: `max < 1s` fails when
    /// something never succeeded.
    fn sampled(&self, seen: Option<f64>, high: Option<f64>) -> Answer {
        let seen_or_endless = seen.unwrap_or(f64::INFINITY);
        let holds = self.criterion.comparison.holds(seen_or_endless, self.criterion.bound);
        let result = if holds && seen.is_some() { Judgement::Pass } else { Judgement::Fail };
        Answer { result, observed: seen, low: high.map(|_| 0.0), high, factor: None }
    }

    fn undecided(&self, answer: &Answer) -> Finding {
        let stopped = self.courses.iter().any(|one| one.interrupted || !one.reached);
        let advice = match answer.factor {
            _ if stopped => "run it to its end".to_owned(),
            Some(factor) if factor > 1.0 => {
                format!("a run about {} times as long would decide", number::significant(factor.ceil()))
            }
            _ => "no run of a practicable length would decide: move the bound, or ask for less"
                .to_owned(),
        };
        let claim = format!("`{}` cannot be decided by this run", self.criterion.text);
        findings::undecided(&self.arm, self.operation(), claim, advice)
    }
}

impl Answer {
    fn nothing() -> Self {
        Self { result: Judgement::Inconclusive, observed: None, low: None, high: None, factor: None }
    }
}

#[cfg(test)]
mod tests;
