//! The counts that one criterion is judged by: a few sums, one histogram, and counts by window.

use plan::criterion::{Count, CountedPart, Criterion, Metric, RatioSide, Time};
use record::{FailureKind, OperationTotals, Totals};
use stats::dispersion::WindowCount;
use stats::{FINE, Histogram};

use super::levels::Levels;
use super::long_windows::{LongWindows, Tally};
use super::scope::{Failures, Scope, Scopes};

/// Counts of one trial, or of several together.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    pub(super) sums: Sums,
    /// Both sides of a ratio; `None` for an item that no answer carried.
    pub(super) sides: [Option<f64>; 2],
    /// The time that the criterion limits, of operations that have it.
    pub(super) times: Histogram,
    /// Windows of all trials, one after the other: operations beyond the bound.
    pub(super) windows: Vec<WindowCount>,
    /// The same windows at levels below the bound: empty unless a quantile is asked for.
    pub(super) levels: Levels,
    /// How many windows each trial has.
    pub(super) lengths: Vec<usize>,
    /// Windows of the length that the criterion asks for.
    pub(super) long_windows: LongWindows,
    /// Lengths of the measure phases.
    pub(super) seconds: f64,
    /// Confidence of its intervals: the highest of its trials.
    pub(super) confidence: f64,
}

/// Counts of the operations in the criterion's scope.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) planned: u64,
    pub(super) missed: u64,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) abandoned: u64,
    pub(super) succeeded_in_time: u64,
    pub(super) failed_in_time: u64,
    pub(super) failures: Failures,
}

impl Sums {
    /// Operations that did not succeed, which count as slower than all others.
    pub(super) fn lost(&self) -> u64 {
        self.missed + self.failed + self.abandoned
    }

    /// Operations that failed by an answer, a refusal or a broken connection, and not by a time-out: more time would
    /// not have changed the outcome.
    pub(super) fn refused(&self) -> u64 {
        let timed_out =
            [FailureKind::Timeout, FailureKind::ConnectTimeout, FailureKind::GreetingTimeout];
        let timed_out: u64 = timed_out.iter().map(|kind| self.failures.named(kind.name())).sum();
        self.failed.saturating_sub(timed_out)
    }

    pub(super) fn count(&self, count: Count) -> u64 {
        match count {
            Count::Planned => self.planned,
            Count::Started => self.succeeded + self.failed + self.abandoned,
            Count::Missed => self.missed,
            Count::Succeeded => self.succeeded,
            Count::Failed => self.failed,
            Count::Abandoned => self.abandoned,
            Count::FailedAs(kind) => self.failures.named(kind),
        }
    }

    fn of(totals: &OperationTotals) -> Self {
        Self {
            planned: totals.planned,
            missed: totals.missed,
            succeeded: totals.succeeded,
            failed: totals.failed,
            abandoned: totals.abandoned,
            succeeded_in_time: totals.succeeded_in_time,
            failed_in_time: totals.failed_in_time,
            failures: Failures::of(totals),
        }
    }

    fn add(&mut self, other: &Self) {
        self.planned += other.planned;
        self.missed += other.missed;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.succeeded_in_time += other.succeeded_in_time;
        self.failed_in_time += other.failed_in_time;
        self.failures.add(&other.failures);
    }
}

impl Counts {
    /// Empty counts.
    pub(super) fn new(criterion: &Criterion) -> Self {
        Self {
            sums: Sums::default(),
            sides: [None; 2],
            times: Histogram::new(FINE),
            windows: Vec::new(),
            levels: Levels::default(),
            lengths: Vec::new(),
            long_windows: LongWindows::new(criterion),
            seconds: 0.0,
            confidence: stats::quantile::CONFIDENCE,
        }
    }

    /// Adds the counts of another trial.
    pub(super) fn merge(&mut self, other: Self) {
        self.sums.add(&other.sums);
        for (mine, theirs) in self.sides.iter_mut().zip(other.sides) {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) => Some(mine + theirs),
                (mine, theirs) => mine.or(theirs),
            };
        }
        self.times.merge(&other.times);
        self.windows.extend(other.windows);
        self.levels.append(other.levels);
        self.lengths.extend(other.lengths);
        self.long_windows.merge(other.long_windows);
        self.seconds += other.seconds;
        self.confidence = self.confidence.max(other.confidence);
    }

    /// Adds the totals of a trial that has ended.
    pub(super) fn totals(&mut self, criterion: &Criterion, scopes: Scopes, all: &All<'_>) {
        let totals = all.of(scopes.whole);
        self.lengths = vec![self.windows.len()];
        self.sums = Sums::of(totals);
        let times = time_of(totals, &criterion.time, all.spans);
        times.into_iter().for_each(|times| self.times.merge(times));
        if let Metric::Ratio(over, under) = &criterion.metric {
            let [over_at, under_at] = scopes.sides;
            self.sides = [all.term(over, over_at), all.term(under, under_at)];
        }
    }

    /// Adds a recorded window. A window may come several times, each time with a different part of it.
    pub(super) fn window(&mut self, number: u64, tally: &Tally) {
        let Ok(number) = usize::try_from(number) else { return };
        if self.windows.len() <= number {
            self.windows.resize(number + 1, WindowCount::default());
        }
        self.windows[number].add(tally.timed + tally.lost, tally.above + tally.lost);
        self.long_windows.add(number, tally);
    }
}

/// The totals of a trial, and those of all operations together.
#[derive(Clone, Copy)]
pub(super) struct All<'a> {
    pub(super) totals: &'a Totals,
    pub(super) total: &'a OperationTotals,
    /// Names of spans.
    pub(super) spans: &'a [String],
    /// Names of the items of each operation.
    pub(super) items: &'a [Vec<String>],
}

impl<'a> All<'a> {
    pub(super) fn of(&self, scope: Scope) -> &'a OperationTotals {
        scope.map_or(self.total, |place| self.totals.part(place))
    }

    /// `None` for an item that no answer carried.
    fn term(&self, term: &RatioSide, scope: Scope) -> Option<f64> {
        match &term.part {
            CountedPart::Count(count) => Some(Sums::of(self.of(scope)).count(*count) as f64),
            CountedPart::Item(name) => {
                let operations = self.totals.operations.iter().zip(self.items);
                let meant =
                    operations.enumerate().filter(|(at, _)| scope.is_none_or(|place| place == *at));
                let sums = meant.filter_map(|(_, (operation, items))| {
                    let at = items.iter().position(|item| item == name)?;
                    let item = operation.items.get(at)?;
                    (item.count > 0).then_some(item.sum)
                });
                sums.reduce(|sum, next| sum + next)
            }
        }
    }
}

/// The histogram of this time; `None` for a span that the protocol does not have.
pub(super) fn time_of<'a>(
    totals: &'a OperationTotals,
    time: &Time,
    spans: &[String],
) -> Option<&'a Histogram> {
    match time {
        Time::Response => Some(&totals.response_time),
        Time::Service => Some(&totals.service_time),
        Time::QueueWait => Some(&totals.queue_wait),
        Time::Span(name) => {
            let place = spans.iter().position(|span| span == name)?;
            totals.spans.get(place)
        }
    }
}
