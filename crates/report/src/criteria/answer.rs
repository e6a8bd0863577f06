//! What the sample says of a criterion, whatever the course of the trials was.

use plan::criterion::{Count, Metric, Operator, Rate, Term};
use record::summary::{Judgement, Rates};
use stats::dispersion::Dispersion;
use stats::proportion::{self, Side};

use super::Evidence;

/// Confidence of each one-sided bound.
const CONFIDENCE: f64 = 0.95;
/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.96;

/// What the sample says: the answer, what was seen with its interval, and the multiple of the run's
/// length that would decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Answer {
    pub(super) result: Judgement,
    pub(super) observed: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) factor: Option<f64>,
}

impl Evidence {
    pub(super) fn answer(&self) -> Answer {
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
            Rate::Completed if single => of_one(sums.succeeded_in_time + sums.failed_in_time),
            Rate::Goodput if single => of_one(sums.succeeded_in_time),
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
}

impl Answer {
    fn nothing() -> Self {
        Self {
            result: Judgement::Inconclusive,
            observed: None,
            low: None,
            high: None,
            factor: None,
        }
    }
}
