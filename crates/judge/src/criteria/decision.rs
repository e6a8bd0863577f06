//! The decision about a criterion from the sample alone, without regard to how the trials went.

use plan::criterion::{Criterion, Metric, Rate, Time};
use record::FailureKind;
use record::summary::Judgement;
use stats::dispersion::{Around, Dispersion};
use stats::exceedance::{Bound, Exceedances};
use stats::normal_quantile;
use stats::proportion::{self, LimitSide};

use super::counts::{Counts, Sums};
use super::long_windows::is_kept;
use super::scope::bound_ns;
use crate::distribution::Values;

/// The decision from the sample, with the observed value and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decision {
    pub(super) result: Judgement,
    pub(super) observed: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// If inconclusive: why.
    pub(super) undecided: Undecided,
}

/// Why the sample does not decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Undecided {
    /// A run this many times as long would decide.
    Longer(f64),
    /// The value is too near to the bound for a run of any practicable length.
    TooNear,
    /// Nothing was measured in its scope.
    NoData,
    /// This many operations have no time.
    NoTime(u64),
    /// A window held nothing to judge, or no window was whole.
    EmptyWindow,
}

/// A criterion with its counts.
#[derive(Clone, Copy)]
pub(super) struct Observations<'a> {
    pub(super) criterion: &'a Criterion,
    pub(super) seen: &'a Counts,
    /// Whether it is judged on trials that drift, and not on one state of the system.
    pub(super) drifts: bool,
}

impl Observations<'_> {
    pub(super) fn decide(&self) -> Decision {
        if self.seen.sums.planned == 0 {
            return Decision::undecided(Undecided::NoData);
        }
        if self.criterion.over.is_some() {
            return self.long_windows();
        }
        match &self.criterion.metric {
            Metric::Quantile(q) => self.quantile(*q),
            Metric::Mean => self.mean(),
            Metric::Max => self.max(),
            Metric::Count(count) => {
                let seen = self.seen.sums.count(*count) as f64;
                self.sampled(seen, (seen == 0.0).then_some(3.0))
            }
            Metric::Rate(rate) => self.rate(*rate),
            Metric::Ratio(..) => self.ratio(),
        }
    }

    fn holds(&self, value: f64) -> bool {
        self.criterion.comparison.holds(value, self.criterion.bound)
    }

    /// Whether operations that never succeeded count as slower than all others in this time. For other times, their
    /// value is unknown.
    fn lost_are_slower(&self) -> bool {
        matches!(self.criterion.time, Time::Response | Time::Service)
    }

    /// Operations whose time is not known, or that never had one. One that was only too slow has all its spans.
    fn lost(&self) -> u64 {
        let sums = &self.seen.sums;
        match self.criterion.time {
            Time::Span(_) => sums.lost() - sums.failures.named(FailureKind::TooSlow.name()),
            _ => sums.lost(),
        }
    }

    /// How many times an operation has on average, at least 1.
    fn repetitions(&self) -> f64 {
        let Sums { succeeded, failed, .. } = self.seen.sums;
        match self.criterion.time {
            Time::Span(_) => {
                (self.seen.times.count() as f64 / (succeeded + failed) as f64).max(1.0)
            }
            _ => 1.0,
        }
    }

    /// By exceedances. Where the time of operations that never succeeded is unknown, the decision must be the same
    /// whether all or none of them are beyond the bound.
    fn quantile(&self, q: f64) -> Decision {
        let seen = self.seen;
        let (timed, lost, repetitions) = (seen.times.count(), self.lost(), self.repetitions());
        let lost = (lost as f64 * repetitions).round() as u64;
        if timed == 0 && (lost == 0 || !self.lost_are_slower()) {
            return Decision::undecided(Undecided::NoData);
        }
        let bound = Bound { value: bound_ns(self.criterion), windows: &seen.windows };
        let own = (!is_kept(&self.criterion.time)).then(|| seen.levels.moved(&seen.times));
        let levels = own.as_ref().unwrap_or(&seen.levels).as_judged();
        let around = if self.drifts { Around::Drift(&seen.lengths) } else { Around::Mean };
        let exceedances =
            |beyond| Exceedances::new((beyond, timed + lost), &levels, bound, 1.0 - q, around);
        let side = |beyond| exceedances(beyond).judge(1.0 - q, seen.confidence);
        let known = seen.times.count_above(bound.value);
        let most = side(known + lost);
        let least = if self.lost_are_slower() { most } else { side(known) };
        let caps = self.criterion.comparison.caps();
        let (result, undecided) = match (least, most) {
            (LimitSide::Below, LimitSide::Below) if caps => (Judgement::Pass, Undecided::TooNear),
            (LimitSide::Above, LimitSide::Above) if !caps => (Judgement::Pass, Undecided::TooNear),
            (LimitSide::Below, LimitSide::Below) | (LimitSide::Above, LimitSide::Above) => {
                (Judgement::Fail, Undecided::TooNear)
            }
            (_, LimitSide::Undecided { factor: Some(factor) }) => {
                (Judgement::Inconclusive, Undecided::Longer(factor))
            }
            (_, LimitSide::Undecided { factor: None }) => {
                (Judgement::Inconclusive, Undecided::TooNear)
            }
            _ => (Judgement::Inconclusive, Undecided::NoTime(self.lost())),
        };
        let without_time = if self.lost_are_slower() { lost } else { 0 };
        let values = Values { times: &seen.times, without_time, confidence: seen.confidence };
        let shown = values.quantile(q, exceedances(known + lost).dispersion());
        let number = |value: Option<u64>| value.map(|value| value as f64);
        let (low, high) = (number(shown.low_ns), number(shown.high_ns));
        Decision { result, observed: number(shown.observed_ns), low, high, undecided }
    }

    /// By the interval of the mean, widened by the dispersion at the bound. The mean leaves out operations without a
    /// time: with any of these it cannot pass, and it fails only if they could only make it worse.
    fn mean(&self) -> Decision {
        let times = &self.seen.times;
        let (count, lost) = (times.count(), self.lost());
        if count == 0 {
            return Decision::undecided(if lost == 0 {
                Undecided::NoData
            } else {
                Undecided::NoTime(lost)
            });
        }
        let mean = times.mean();
        let phi = Dispersion::of(&self.seen.windows).phi;
        let z = normal_quantile(1.0 - (1.0 - self.seen.confidence) / 2.0);
        let half = z * times.stdev() * (phi / count as f64).sqrt();
        let (low, high) = (mean - half, mean + half);
        let gap = (mean - self.criterion.bound).abs();
        let longer =
            if gap > 0.0 { Undecided::Longer((half / gap).powi(2)) } else { Undecided::TooNear };
        let worse = self.criterion.comparison.caps() && self.lost_are_slower();
        let (result, undecided) = match (self.holds(low), self.holds(high)) {
            (false, false) if lost == 0 || worse => (Judgement::Fail, longer),
            _ if lost > 0 => (Judgement::Inconclusive, Undecided::NoTime(lost)),
            (true, true) => (Judgement::Pass, longer),
            _ => (Judgement::Inconclusive, longer),
        };
        Decision { result, observed: Some(mean), low: Some(low), high: Some(high), undecided }
    }

    /// The greatest time of this sample. With operations that never succeeded, an upper bound fails and a lower one
    /// stays undecided, if those count as slower than all others.
    fn max(&self) -> Decision {
        let lost = self.lost();
        let greatest = self.seen.times.max() as f64;
        let empty = self.seen.times.count() == 0;
        if lost > 0 && self.lost_are_slower() {
            let caps = self.criterion.comparison.caps();
            let result = if caps { Judgement::Fail } else { Judgement::Inconclusive };
            return Decision { result, ..Decision::undecided(Undecided::NoTime(lost)) };
        }
        let met = self.holds(greatest);
        match self.criterion.comparison.caps() {
            _ if empty => Decision::undecided(Undecided::NoData),
            caps if lost > 0 && caps == met => Decision {
                observed: Some(greatest),
                ..Decision::undecided(Undecided::NoTime(lost))
            },
            _ => self.sampled(greatest, None),
        }
    }

    fn rate(&self, rate: Rate) -> Decision {
        let sums = &self.seen.sums;
        let count = match rate {
            Rate::Offered => sums.planned,
            Rate::Started => sums.planned - sums.missed,
            Rate::Completed => sums.succeeded_in_time + sums.failed_in_time,
            Rate::Goodput => sums.succeeded_in_time,
        };
        if self.seen.seconds > 0.0 {
            self.sampled(count as f64 / self.seen.seconds, None)
        } else {
            Decision::undecided(Undecided::NoData)
        }
    }

    fn ratio(&self) -> Decision {
        match self.seen.sides {
            [Some(over), Some(under)] if under != 0.0 => {
                let chance = (over == 0.0).then(|| proportion::rule_of_three(under));
                self.sampled(over / under, chance)
            }
            _ => Decision::undecided(Undecided::NoData),
        }
    }

    /// Every whole window on its observed value; the worst one is shown.
    fn long_windows(&self) -> Decision {
        let long_windows = &self.seen.long_windows;
        let observed = long_windows.worst().and_then(|worst| worst.seen);
        Decision {
            result: long_windows.result(),
            observed: observed.filter(|seen| seen.is_finite()),
            ..Decision::undecided(Undecided::EmptyWindow)
        }
    }

    /// Judged on the sample.
    fn sampled(&self, seen: f64, high: Option<f64>) -> Decision {
        let result = if self.holds(seen) { Judgement::Pass } else { Judgement::Fail };
        let low = high.map(|_| 0.0);
        Decision { result, observed: Some(seen), low, high, undecided: Undecided::TooNear }
    }
}

impl Decision {
    fn undecided(undecided: Undecided) -> Self {
        let result = Judgement::Inconclusive;
        Self { result, observed: None, low: None, high: None, undecided }
    }
}
