//! `over 10s windows`: each whole window of that length must meet the criterion, by its observed values.
//!
//! Windows are joined from recorded ones, so that a bound is known to the width of a coarse bucket, 1/128 of its
//! value. Response time and counts belong to the window of the intended start, service time and goodput to that of
//! the finish. A shorter rest at the end of the measure phase is not judged.

use std::time::Duration;

use plan::criterion::{Count, CountedPart, Criterion, Metric, Operator, Rate, RatioSide, Time};
use plan::schedule::nanos;
use record::summary::Judgement;
use record::{FailureKind, OperationWindow, Window, WindowSpan};
use stats::quantile;

use super::scope::{Failures, Scopes, bound_ns, parts};

/// Which time of a window is compared with which value.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeThreshold {
    pub(super) span: WindowSpan,
    pub(super) threshold: u64,
}

/// Sums over windows of the operations in the criterion's scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Operations with a time.
    pub(super) timed: u64,
    /// Of those, beyond the threshold.
    pub(super) above: u64,
    /// Greatest time.
    pub(super) max: u64,
    /// Operations slower than all others.
    pub(super) lost: u64,
    pub(super) planned: u64,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) failures: Failures,
    /// Succeeded, by the window in which they finished.
    pub(super) finished: u64,
    /// Sides of a ratio.
    pub(super) sides: [u64; 2],
}

/// The windows of the length that a criterion names.
#[derive(Debug, Clone)]
pub(super) struct LongWindows {
    /// Length of each, in nanoseconds; 0 where the criterion names none.
    length: u64,
    /// Recorded windows in each.
    per: usize,
    /// Those of the current trial.
    open: Vec<Tally>,
    /// Those that were judged.
    pub(super) closed: Vec<LongWindow>,
}

/// One window of the length that the criterion names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongWindow {
    /// Number of the trial.
    pub(super) trial: u32,
    /// Its start, from that of the measure phase.
    pub(super) from: Duration,
    /// Whether it meets the criterion; `None` where it holds nothing to judge.
    pub(super) meets: Option<bool>,
    /// The observed value, in the unit of the bound; for a quantile only in the worst window of a trial.
    pub(super) seen: Option<f64>,
    /// How far it is on the wrong side; comparable among the windows of one criterion.
    badness: f64,
}

impl Tally {
    /// The sums of a recorded window.
    pub(super) fn of(
        window: &Window,
        criterion: &Criterion,
        scopes: Scopes,
        threshold: TimeThreshold,
    ) -> Self {
        let mut tally = Self::default();
        for part in parts(window, scopes.whole) {
            tally.add_part(part, threshold);
        }
        if let Metric::Ratio(over, under) = &criterion.metric {
            let sum = |term: &RatioSide, scope| {
                parts(window, scope).iter().map(|part| counted(part, term)).sum()
            };
            let [over_at, under_at] = scopes.sides;
            tally.sides = [sum(over, over_at), sum(under, under_at)];
        }
        tally
    }

    fn add_part(&mut self, part: &OperationWindow, threshold: TimeThreshold) {
        self.planned += part.planned;
        self.succeeded += part.succeeded;
        self.failed += part.failed_total();
        self.failures.add_part(part);
        self.lost += lost_of(part, threshold.span);
        if let Some(times) = part.histogram(threshold.span) {
            self.timed += times.count();
            self.above += times.count_above(threshold.threshold);
            self.max = self.max.max(times.max());
        }
        let finished = part.histogram(WindowSpan::ServiceTime);
        self.finished += finished.map_or(0, stats::Histogram::count);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.timed += other.timed;
        self.above += other.above;
        self.max = self.max.max(other.max);
        self.lost += other.lost;
        self.planned += other.planned;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.failures.add(&other.failures);
        self.finished += other.finished;
        for (mine, theirs) in self.sides.iter_mut().zip(other.sides) {
            *mine += theirs;
        }
    }

    /// Whether these operations meet the criterion, the observed value, and how bad it is.
    fn judge(&self, criterion: &Criterion, seconds: f64) -> (Option<bool>, Option<f64>, f64) {
        if let Metric::Quantile(q) = criterion.metric {
            return self.quantile(criterion, q);
        }
        let seen = self.value(criterion, seconds);
        let holds = seen.map(|seen| criterion.comparison.holds(seen, criterion.bound));
        let badness = seen.map_or(0.0, |seen| match criterion.comparison {
            comparison if comparison.caps() => seen,
            Operator::Equal => (seen - criterion.bound).abs(),
            _ => -seen,
        });
        (holds, seen, badness)
    }

    /// By nearest rank: at most n − ⌈q·n⌉ operations of n may lie beyond the bound.
    fn quantile(&self, criterion: &Criterion, q: f64) -> (Option<bool>, Option<f64>, f64) {
        let total = self.timed + self.lost;
        if total == 0 {
            return (None, None, 0.0);
        }
        let beyond = self.above + self.lost;
        let below = beyond <= total - quantile::rank(q, total);
        let (caps, share) = (criterion.comparison.caps(), beyond as f64 / total as f64);
        (Some(below == caps), None, if caps { share } else { -share })
    }

    fn value(&self, criterion: &Criterion, seconds: f64) -> Option<f64> {
        match &criterion.metric {
            Metric::Max if self.lost > 0 => Some(f64::INFINITY),
            Metric::Max => (self.timed > 0).then_some(self.max as f64),
            Metric::Count(Count::Planned) => Some(self.planned as f64),
            Metric::Count(Count::Succeeded) => Some(self.succeeded as f64),
            Metric::Count(Count::Failed) => Some(self.failed as f64),
            Metric::Count(Count::FailedAs(kind)) => Some(self.failures.named(kind) as f64),
            Metric::Rate(Rate::Offered) => Some(self.planned as f64 / seconds),
            Metric::Rate(Rate::Goodput) => Some(self.finished as f64 / seconds),
            Metric::Ratio(..) => {
                let [over, under] = self.sides;
                (under > 0).then(|| over as f64 / under as f64)
            }
            // Rejected when the criterion was read: not kept by window.
            Metric::Quantile(_) | Metric::Mean | Metric::Count(_) | Metric::Rate(_) => None,
        }
    }
}

fn counted(part: &OperationWindow, term: &RatioSide) -> u64 {
    match term.part {
        CountedPart::Count(Count::Planned) => part.planned,
        CountedPart::Count(Count::Succeeded) => part.succeeded,
        CountedPart::Count(Count::Failed) => part.failed_total(),
        CountedPart::Count(Count::FailedAs(kind)) => {
            let mut failures = Failures::default();
            failures.add_part(part);
            failures.named(kind)
        }
        // Rejected when the criterion was read, if it names windows.
        CountedPart::Count(_) | CountedPart::Item(_) => 0,
    }
}

/// The time recorded by window that is nearest to this one.
pub(super) fn span_of(time: &Time) -> WindowSpan {
    match time {
        Time::Response => WindowSpan::ResponseTime,
        Time::Service | Time::QueueWait => WindowSpan::ServiceTime,
        Time::Span(name) => WindowSpan::of_span(name).unwrap_or(WindowSpan::ServiceTime),
    }
}

/// Operations of a window whose time is not known, or that never had one. A stream that was only too slow has all its
/// times, and gaps that never came are not counted.
pub(super) fn lost_of(part: &OperationWindow, span: WindowSpan) -> u64 {
    match span {
        WindowSpan::ResponseTime | WindowSpan::ServiceTime => part.without_time(),
        WindowSpan::FirstEvent => {
            let is_slow = |(kind, _): &&(FailureKind, u64)| *kind == FailureKind::TooSlow;
            let slow: u64 = part.failed.iter().filter(is_slow).map(|(_, count)| count).sum();
            part.without_time() - slow
        }
        WindowSpan::Gap => 0,
    }
}

/// Whether windows keep this time.
pub(super) fn is_kept(time: &Time) -> bool {
    match time {
        Time::Response | Time::Service => true,
        Time::QueueWait => false,
        Time::Span(name) => WindowSpan::of_span(name).is_some(),
    }
}

impl TimeThreshold {
    /// The time of this criterion, with its bound as the threshold.
    pub(super) fn at_bound(criterion: &Criterion) -> Self {
        Self { span: span_of(&criterion.time), threshold: bound_ns(criterion) }
    }
}

impl LongWindows {
    pub(super) fn new(criterion: &Criterion) -> Self {
        let length = criterion.over.map_or(0, nanos);
        Self { length, per: 0, open: Vec::new(), closed: Vec::new() }
    }

    /// Begins a trial whose recorded windows have this length.
    pub(super) fn begin(&mut self, window_ns: u64) {
        self.per = usize::try_from(self.length / window_ns.max(1)).unwrap_or(usize::MAX);
        self.open.clear();
    }

    /// Adds the recorded window of this number.
    pub(super) fn add(&mut self, number: usize, tally: &Tally) {
        let Some(place) = number.checked_div(self.per) else { return };
        if self.open.len() <= place {
            self.open.resize(place + 1, Tally::default());
        }
        self.open[place].add(tally);
    }

    /// Ends the trial: judges its whole windows up to `measured_ns`.
    pub(super) fn close(&mut self, criterion: &Criterion, trial: u32, measured_ns: u64) {
        let whole = measured_ns.checked_div(self.length).unwrap_or(0);
        let seconds = self.length as f64 / 1e9;
        for number in 0..whole {
            let place = usize::try_from(number).unwrap_or(usize::MAX);
            let tally = self.open.get(place).copied().unwrap_or_default();
            let (meets, seen, badness) = tally.judge(criterion, seconds);
            let from = Duration::from_nanos(number * self.length);
            self.closed.push(LongWindow { trial, from, meets, seen, badness });
        }
        self.open.clear();
    }

    /// Whether the window at this place meets the criterion, from its parts so far.
    pub(super) fn meets(&self, criterion: &Criterion, place: usize) -> Option<bool> {
        self.open.get(place)?.judge(criterion, self.length as f64 / 1e9).0
    }

    /// Recorded windows in each.
    pub(super) fn per(&self) -> usize {
        self.per
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.closed.extend(other.closed);
    }

    /// The one that is farthest on the wrong side.
    pub(super) fn worst(&self) -> Option<&LongWindow> {
        let judged = self.closed.iter().filter(|one| one.meets.is_some());
        // The first one, if several are equally bad.
        judged.reduce(|worst, one| if one.badness > worst.badness { one } else { worst })
    }

    /// The numbers of the recorded windows in the worst window.
    pub(super) fn worst_numbers(&self) -> Option<std::ops::Range<u64>> {
        let first = self.worst()?.from.as_nanos() / u128::from(self.length.max(1));
        let first = u64::try_from(first).ok()?;
        let per = self.per as u64;
        Some(first * per..(first + 1) * per)
    }

    /// Sets the observed value of the worst window.
    pub(super) fn note_worst(&mut self, seen: Option<f64>) {
        let Some(from) = self.worst().map(|worst| worst.from) else { return };
        if let Some(worst) = self.closed.iter_mut().find(|one| one.from == from) {
            worst.seen = seen;
        }
    }

    /// The result for all of them: one window that does not meet the criterion fails it; no windows, or a window with
    /// nothing to judge, is no pass.
    pub(super) fn result(&self) -> Judgement {
        if self.missed().next().is_some() {
            Judgement::Fail
        } else if self.closed.is_empty() || self.closed.iter().any(|one| one.meets.is_none()) {
            Judgement::Inconclusive
        } else {
            Judgement::Pass
        }
    }

    /// Windows that do not meet the criterion, in order.
    pub(super) fn missed(&self) -> impl Iterator<Item = &LongWindow> {
        self.closed.iter().filter(|one| one.meets == Some(false))
    }
}
