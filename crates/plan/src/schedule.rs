//! The schedule: the sequence of arrivals, determined by process and seed.

use std::time::Duration;

use crate::arrival_list::Cursor;
use crate::intensity::{Intensity, NS_PER_SECOND};
use crate::load::{ArrivalProcess, Spacing, Stop};
use crate::plan::TrialPlan;
use crate::randomness::{Gaps, RandomStream, draw};

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// k of the k-th arrival.
    pub index: u64,
    /// Nanoseconds from the start of the phase.
    pub offset_ns: u64,
}

/// All arrivals of a phase, in order. The caller skips to a worker's share (worker i of W takes the indices k ≡ i mod
/// W).
#[derive(Debug, Clone)]
pub struct Schedule {
    rule: Rule,
    /// k of the next arrival; `drawn` counts draws so far, including arrivals of the other half.
    next: u64,
    drawn: u64,
    half: Option<Half>,
    count: u64,
    end_ns: u64,
}

/// One of the two halves of a duet's arrivals; a fair draw assigns each arrival to a half.
#[derive(Debug, Clone, Copy)]
struct Half {
    seed: u64,
    is_second: bool,
}

impl Half {
    fn owns(self, drawn: u64) -> bool {
        (draw(self.seed, RandomStream::Duet, drawn) >> 63 == 1) == self.is_second
    }
}

/// The rule for the offset of the k-th arrival.
#[derive(Debug, Clone)]
enum Rule {
    /// k/rate, in whole nanoseconds.
    Even(Period),
    /// Λ⁻¹ of k or of the k-th partial sum of exponential draws.
    Operational { intensity: Intensity, gaps: Option<Gaps>, sum: f64, limit: f64 },
    /// As listed.
    Listed(Cursor),
    /// No arrivals.
    Empty,
}

impl Schedule {
    /// The schedule of this process until it stops.
    ///
    /// The k-th offset is computed from k (constant) or from the k-th partial sum of draws in
    /// operational time (all random processes), never by adding a rounded period.
    ///
    /// Cost: no allocation after this call, except that of cloning the stages
    pub fn new(arrivals: &ArrivalProcess, stop: Stop, seed: u64) -> Self {
        Self::of_stream(arrivals, stop, seed, RandomStream::Schedule)
    }

    /// The schedule of a trial: the whole process, or, in a duet, half of the doubled process.
    ///
    /// Shape:  a duet stops after a duration, which `check` ensures
    /// Panics: in a duet, if the process cannot be doubled, which `check` refuses
    pub fn of_trial(arrivals: &ArrivalProcess, stop: Stop, trial: &TrialPlan) -> Self {
        Self::halved(arrivals, trial, |whole| Self::new(whole, stop, trial.seed))
    }

    /// The schedule of a trial's warm-up: the process at its initial rate for `length`, from another stream of the
    /// seed. Empty if the process begins at rate 0 or is a replay.
    ///
    /// Panics: as [`Schedule::of_trial`]
    pub fn warm_up(arrivals: &ArrivalProcess, length: Duration, trial: &TrialPlan) -> Self {
        let stop = Stop::Duration { after: length };
        Self::halved(arrivals, trial, |whole| match whole.initial() {
            Some(initial) => Self::of_stream(&initial, stop, trial.seed, RandomStream::WarmUp),
            None => Self { rule: Rule::Empty, next: 0, drawn: 0, half: None, count: 0, end_ns: 0 },
        })
    }

    fn halved(
        arrivals: &ArrivalProcess,
        trial: &TrialPlan,
        schedule: impl Fn(&ArrivalProcess) -> Self,
    ) -> Self {
        if !trial.duet {
            return schedule(arrivals);
        }
        let twice = arrivals.twice().expect("`check` refuses a duet of what is not Poisson");
        let half = Half { seed: trial.seed, is_second: trial.order == 2 };
        Self { half: Some(half), ..schedule(&twice) }
    }

    fn of_stream(arrivals: &ArrivalProcess, stop: Stop, seed: u64, stream: RandomStream) -> Self {
        let (end_ns, count) = match stop {
            Stop::Duration { after } => (nanos(after), u64::MAX),
            Stop::Operations { count } => (u64::MAX, count),
        };
        let gaps = |spacing| (spacing == Spacing::Poisson).then(|| Gaps::new(seed, stream));
        let rule = match arrivals {
            ArrivalProcess::Constant { rate } => Rule::Even(Period::of_rate(*rate)),
            ArrivalProcess::Poisson { rate } => {
                Rule::operational(Intensity::constant(*rate), gaps(Spacing::Poisson), end_ns)
            }
            ArrivalProcess::Stages { from, stages, spacing } => {
                Rule::operational(Intensity::stages(*from, stages), gaps(*spacing), end_ns)
            }
            ArrivalProcess::Burst { rate, on, off, spacing } => {
                Rule::operational(Intensity::burst(*rate, *on, *off), gaps(*spacing), end_ns)
            }
            ArrivalProcess::Replay { list, .. } => Rule::Listed(list.cursor()),
        };
        Self { rule, next: 0, drawn: 0, half: None, count, end_ns }
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        while self.drawn < self.count {
            let drawn = self.drawn;
            let offset_ns = self.rule.offset(drawn, self.end_ns)?;
            self.drawn += 1;
            if self.half.is_none_or(|half| half.owns(drawn)) {
                let arrival = Arrival { index: self.next, offset_ns };
                self.next += 1;
                return Some(arrival);
            }
        }
        None
    }
}

impl Rule {
    fn operational(intensity: Intensity, gaps: Option<Gaps>, end_ns: u64) -> Self {
        let limit = match end_ns {
            u64::MAX => f64::INFINITY,
            _ => intensity.cumulative(end_ns as f64 / NS_PER_SECOND),
        };
        Self::Operational { intensity, gaps, sum: 0.0, limit }
    }

    /// The offset of arrival `k`; call it in ascending order, once for each; `None` at the end.
    fn offset(&mut self, k: u64, end_ns: u64) -> Option<u64> {
        match self {
            Self::Even(period) => Some(period.multiple(k)).filter(|offset| *offset < end_ns),
            Self::Operational { intensity, gaps, sum, limit } => {
                match gaps {
                    Some(gaps) => *sum += gaps.next(),
                    None => *sum = k as f64,
                }
                // A sum within a billionth of the limit counts as the limit: an integral that should be whole may be
                // slightly too large because of rounding.
                if *sum >= *limit - 1e-9 {
                    return None;
                }
                let offset = (intensity.inverse(*sum)? * NS_PER_SECOND).round() as u64;
                Some(offset.min(end_ns.saturating_sub(1)))
            }
            Self::Listed(list) => Some(list.at(k)?.offset_ns).filter(|offset| *offset < end_ns),
            Self::Empty => None,
        }
    }
}

/// Length of 1/rate as an exact fraction of nanoseconds: a rate is an `f64` and therefore a dyadic rational.
#[derive(Debug, Clone, Copy)]
struct Period {
    numerator: u128,
    denominator: u128,
}

impl Period {
    fn of_rate(rate: f64) -> Self {
        let mut scaled = rate;
        let mut numerator = 1_000_000_000_u128;
        // 2⁻⁶⁰ of a rate in 1/s is far below the resolution of a clock.
        for _ in 0..60 {
            if scaled.fract() == 0.0 {
                break;
            }
            scaled *= 2.0;
            numerator *= 2;
        }
        Self { numerator, denominator: (scaled.round() as u128).max(1) }
    }

    /// k periods, rounded half up to the nanosecond.
    fn multiple(self, k: u64) -> u64 {
        let exact = u128::from(k)
            .checked_mul(2 * self.numerator)
            .map(|double| (double + self.denominator) / (2 * self.denominator));
        let offset = exact.unwrap_or_else(|| {
            (k as f64 * (self.numerator as f64 / self.denominator as f64)) as u128
        });
        u64::try_from(offset).unwrap_or(u64::MAX)
    }
}

/// A length in nanoseconds; more than 584 years count as 584.
pub fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
