//! Every count and histogram of a measure phase, mergeable over workers.

mod journey;
mod replay;
mod tail;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::{COARSE, FINE, Histogram};

use crate::summary::Accounting;
use crate::{FailureKind, Outcome, Sample, Status};
pub use journey::{JourneyTotals, StepOutcome, StepTotals};
pub use replay::ReplayCounts;
pub use tail::TailBreakdown;

/// Different names of statuses that are counted for an operation.
const STATUS_NAMES_LIMIT: usize = 64;
/// The status by which all others are counted.
const OTHER_STATUS: &[u8] = b"other";

/// Names that samples refer to by index, the same for all workers of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Operations of the mix.
    pub operations: Vec<String>,
    /// Item names of each operation.
    pub items: Vec<Vec<String>>,
    /// Spans: `connect`, `tls`, then the driver's.
    pub spans: Vec<String>,
    /// Journeys. Samples refer to them by the indices after those of the operations.
    pub journeys: Vec<JourneyLayout>,
}

/// Names of what windows count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MixNames {
    /// Operations, in the order of the mix.
    pub operations: Vec<String>,
    /// Journeys, in order.
    pub journeys: Vec<String>,
}

/// Names of a journey and its steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JourneyLayout {
    /// Its name.
    pub name: String,
    /// Names of the steps that perform something, in order.
    pub steps: Vec<String>,
}

impl Layout {
    /// Number of operations and journeys together.
    pub fn len(&self) -> usize {
        self.operations.len() + self.journeys.len()
    }

    /// Whether there is neither.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names of what windows count.
    pub fn names(&self) -> MixNames {
        let journeys = self.journeys.iter().map(|journey| journey.name.clone());
        MixNames { operations: self.operations.clone(), journeys: journeys.collect() }
    }

    /// The name of the operation or journey with this index.
    pub fn name(&self, index: usize) -> &str {
        match self.operations.get(index) {
            Some(name) => name,
            None => &self.journeys[index - self.operations.len()].name,
        }
    }
}

/// Counts and histograms of one operation.
///
/// Shape:  `planned = missed + succeeded + failed + abandoned` once everything has ended
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationTotals {
    /// Its name.
    pub name: String,
    /// Due in the measure phase.
    pub planned: u64,
    /// Never begun.
    pub missed: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended badly.
    pub failed: u64,
    /// Unfinished at the drain deadline.
    pub abandoned: u64,
    /// Of the succeeded ones, ended before the measure phase did.
    pub succeeded_in_time: u64,
    /// Of the failed ones, ended before the measure phase did.
    pub failed_in_time: u64,
    /// Failed and abandoned ones, intended start to end, summed.
    pub unsuccessful_ns: u128,
    /// By [`FailureKind::index`].
    pub failures: Vec<u64>,
    /// By status. Names that the target sends beyond the first [`STATUS_NAMES_LIMIT`] count as `other`.
    pub statuses: BTreeMap<Status, u64>,
    /// Succeeded ones, intended start to complete answer.
    #[serde(with = "crate::stored::one")]
    pub response_time: Histogram,
    /// Succeeded ones, first byte out to last byte in.
    #[serde(with = "crate::stored::one")]
    pub service_time: Histogram,
    /// All finished ones.
    #[serde(with = "crate::stored::one")]
    pub queue_wait: Histogram,
    /// By span index of the layout; all finished ones that carried it.
    #[serde(with = "crate::stored::several")]
    pub spans: Vec<Histogram>,
    /// By item index of the layout.
    pub items: Vec<ItemTotals>,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Those of the phases before, which are not judged, but did arrive.
    #[serde(default)]
    pub before: BeforeMeasure,
}

/// A declared number read from answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemTotals {
    /// Succeeded operations that carried it.
    pub count: u64,
    /// Over all of them.
    pub sum: f64,
    /// Response time by power of two of the item: entry k for values in [2^(k−1), 2^k), entry 0 for values below 1.
    /// Coarse, since an item may span many powers.
    #[serde(with = "crate::stored::by_power")]
    pub response_time: BTreeMap<u32, Histogram>,
}

/// Everything of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// By operation index of the layout.
    pub operations: Vec<OperationTotals>,
    /// By journey index of the layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<JourneyTotals>,
    /// All dispatched operations.
    #[serde(with = "crate::stored::one")]
    pub dispatch_lag: Histogram,
    /// Parts of response time, by bucket of response time.
    pub tail: TailBreakdown,
    /// Operations due and sent over time, where instants are replayed without journeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayCounts>,
}

/// What ramp-up and warm-up sent: an observer that counts arrivals cannot separate it from the rest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BeforeMeasure {
    /// Begun, or missed.
    pub planned: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Sums of the items of those, by item index of the layout.
    pub items: Vec<f64>,
}

impl BeforeMeasure {
    pub(crate) fn end(&mut self, sample: &Sample<'_>) {
        if sample.outcome != Outcome::Succeeded {
            return;
        }
        self.succeeded += 1;
        for (sum, value) in self.items.iter_mut().zip(sample.items) {
            *sum += if is_item(*value) { *value } else { 0.0 };
        }
    }

    fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.succeeded += other.succeeded;
        self.items.iter_mut().zip(&other.items).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Totals {
    /// Empty totals with memory touched.
    pub fn new(layout: &Layout) -> Self {
        let operations = layout.operations.iter().enumerate().map(|(index, name)| {
            let items = layout.items.get(index).map_or(0, Vec::len);
            OperationTotals::new(name, layout.spans.len(), items)
        });
        let journeys = layout.journeys.iter();
        let journeys =
            journeys.map(|one| JourneyTotals::new(&one.name, &one.steps, layout.spans.len()));
        Self {
            operations: operations.collect(),
            journeys: journeys.collect(),
            dispatch_lag: Histogram::new(FINE),
            tail: TailBreakdown::default(),
            replay: None,
        }
    }

    /// Memory of the histograms of one operation, in bytes.
    pub(crate) fn memory(spans: usize) -> u64 {
        const ALWAYS: usize = 3;
        (ALWAYS + spans) as u64 * Histogram::memory(FINE)
    }

    /// Adds another worker's.
    ///
    /// Panics: if the layouts differ
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.operations.len(), other.operations.len(), "totals of one layout");
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(theirs);
            for (mine, theirs) in mine.items.iter_mut().zip(&theirs.items) {
                mine.merge(theirs);
            }
        }
        self.journeys.iter_mut().zip(&other.journeys).for_each(|(mine, theirs)| mine.merge(theirs));
        self.dispatch_lag.merge(&other.dispatch_lag);
        self.tail.merge(&other.tail);
        match (&mut self.replay, &other.replay) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, Some(theirs)) => self.replay = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// The operation with this index, or the journey where it is beyond the operations.
    ///
    /// Panics: where there is neither
    pub fn part(&self, index: usize) -> &OperationTotals {
        match self.operations.len() {
            operations if index < operations => &self.operations[index],
            operations => &self.journeys[index - operations].totals,
        }
    }

    pub(crate) fn part_mut(&mut self, index: usize) -> &mut OperationTotals {
        match self.operations.len() {
            operations if index < operations => &mut self.operations[index],
            operations => &mut self.journeys[index - operations].totals,
        }
    }

    /// All operations together, named `all`; items are left out, and journeys, which are made of operations.
    pub fn total(&self) -> OperationTotals {
        let spans = self.operations.first().map_or(0, |operation| operation.spans.len());
        let mut total = OperationTotals::new("all", spans, 0);
        for operation in &self.operations {
            total.merge(operation);
        }
        total
    }

    /// Counts an operation that ended, before or after `measure_to`. No allocation once statuses and
    /// items have been seen.
    pub(crate) fn end(&mut self, sample: &Sample<'_>, measure_to: u64) {
        if sample.operation < self.operations.len() {
            self.dispatch_lag.record(sample.dispatch_lag());
            if sample.outcome == Outcome::Succeeded {
                self.tail.record(sample);
            }
        }
        let operation = self.part_mut(sample.operation);
        operation.end(sample);
        if sample.finished_at < measure_to {
            operation.succeeded_in_time += u64::from(sample.outcome == Outcome::Succeeded);
            operation.failed_in_time += u64::from(matches!(sample.outcome, Outcome::Failed(_)));
        }
    }
}

impl OperationTotals {
    /// Where every planned operation went.
    pub fn accounting(&self) -> Accounting {
        let &Self { planned, missed, succeeded, failed, abandoned, .. } = self;
        let started = succeeded + failed + abandoned;
        Accounting { planned, started, missed, succeeded, failed, abandoned }
    }

    /// Without a time, hence slower than all others: failed, missed or abandoned.
    pub fn without_time(&self) -> u64 {
        self.missed + self.failed + self.abandoned
    }

    /// Nothing counted yet; memory touched.
    pub fn new(name: &str, spans: usize, items: usize) -> Self {
        Self {
            name: name.to_owned(),
            planned: 0,
            missed: 0,
            succeeded: 0,
            failed: 0,
            abandoned: 0,
            succeeded_in_time: 0,
            failed_in_time: 0,
            unsuccessful_ns: 0,
            failures: vec![0; FailureKind::ALL.len()],
            statuses: BTreeMap::new(),
            response_time: Histogram::new(FINE),
            service_time: Histogram::new(FINE),
            queue_wait: Histogram::new(FINE),
            spans: vec![Histogram::new(FINE); spans],
            items: vec![ItemTotals::default(); items],
            bytes_sent: 0,
            bytes_received: 0,
            before: BeforeMeasure { items: vec![0.0; items], ..BeforeMeasure::default() },
        }
    }

    /// Failures of this kind.
    pub fn failures_of(&self, kind: FailureKind) -> u64 {
        // A record of an earlier version knows fewer kinds.
        self.failures.get(kind.index()).copied().unwrap_or(0)
    }

    /// Begun: `planned − missed`.
    pub fn started(&self) -> u64 {
        self.planned - self.missed
    }

    /// All begun ones, intended start to end, summed.
    pub fn time_ns(&self) -> u128 {
        self.response_time.sum() + self.unsuccessful_ns
    }

    fn end(&mut self, sample: &Sample<'_>) {
        if sample.outcome != Outcome::Succeeded {
            self.unsuccessful_ns += u128::from(sample.response_time());
        }
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        match sample.outcome {
            // Its later instants are those of the drain deadline, not of anything that happened.
            Outcome::Abandoned => {
                self.abandoned += 1;
                return;
            }
            Outcome::Failed(kind) => {
                self.failed += 1;
                self.failures[kind.index()] += 1;
            }
            Outcome::Succeeded => self.succeed(sample),
        }
        if sample.status.is_some() {
            self.count_status(sample.status, 1);
        }
        self.queue_wait.record(sample.queue_wait());
        sample.spans.count_all(&mut self.spans);
    }

    fn count_status(&mut self, status: Status, count: u64) {
        if let Some(known) = self.statuses.get_mut(&status) {
            *known += count;
            return;
        }
        let is_name = |status: &&Status| matches!(status, Status::Name(_));
        let is_full =
            is_name(&&status) && self.statuses.keys().filter(is_name).count() >= STATUS_NAMES_LIMIT;
        let counted = if is_full { Status::named(OTHER_STATUS) } else { status };
        *self.statuses.entry(counted).or_insert(0) += count;
    }

    fn succeed(&mut self, sample: &Sample<'_>) {
        self.succeeded += 1;
        self.response_time.record(sample.response_time());
        self.service_time.record(sample.service_time());
        for (totals, &value) in self.items.iter_mut().zip(sample.items) {
            totals.record(value, sample.response_time());
        }
    }

    /// Adds everything but the items.
    fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.missed += other.missed;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.succeeded_in_time += other.succeeded_in_time;
        self.failed_in_time += other.failed_in_time;
        self.unsuccessful_ns += other.unsuccessful_ns;
        for (mine, theirs) in self.failures.iter_mut().zip(&other.failures) {
            *mine += theirs;
        }
        for (&status, count) in &other.statuses {
            self.count_status(status, *count);
        }
        self.response_time.merge(&other.response_time);
        self.service_time.merge(&other.service_time);
        self.queue_wait.merge(&other.queue_wait);
        for (mine, theirs) in self.spans.iter_mut().zip(&other.spans) {
            mine.merge(theirs);
        }
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.before.merge(&other.before);
    }
}

impl ItemTotals {
    /// Counts an item of an operation with this response time; what is no number, or beyond all measure, is absent.
    fn record(&mut self, value: f64, response_time: u64) {
        if !is_item(value) {
            return;
        }
        self.count += 1;
        self.sum += value;
        self.response_time
            .entry(power_of_two(value))
            .or_insert_with(|| Histogram::new(COARSE))
            .record(response_time);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        for (&power, theirs) in &other.response_time {
            self.response_time.entry(power).or_insert_with(|| Histogram::new(COARSE)).merge(theirs);
        }
    }
}

/// Whether a value counts as an item: even sums of as many as a run can have must be numbers, or a record could not be
/// read again.
fn is_item(value: f64) -> bool {
    const MOST: f64 = 1e280;
    value.abs() <= MOST
}

/// k for values in [2^(k−1), 2^k), 0 for values below 1.
fn power_of_two(value: f64) -> u32 {
    const EXPONENT_BITS: u64 = 0x7ff;
    const EXPONENT_BIAS: u32 = 1023;
    if value < 1.0 {
        return 0;
    }
    // The exponent field of an IEEE 754 double is exact where a logarithm would round.
    (value.to_bits() >> 52 & EXPONENT_BITS) as u32 - EXPONENT_BIAS + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_statuses_are_bounded_and_codes_are_not() {
        let mut totals = OperationTotals::new("x", 0, 0);
        for name in 0..100 {
            totals.count_status(Status::named(format!("E{name}").as_bytes()), 2);
            totals.count_status(Status::from(1000 + name), 1);
        }
        let mut whole = totals.clone();
        whole.merge(&totals);
        for (totals, times) in [(totals, 1), (whole, 2)] {
            assert_eq!(totals.statuses.len(), STATUS_NAMES_LIMIT + 1 + 100);
            assert_eq!(totals.statuses[&Status::named(b"other")], 36 * 2 * times);
            assert_eq!(totals.statuses[&Status::named(b"E0")], 2 * times);
        }
    }

    #[test]
    fn sums_of_items_are_always_numbers() {
        let mut item = ItemTotals::default();
        for value in [1e308, -1e308, f64::INFINITY, f64::NAN, 1e280, 2.0] {
            item.record(value, 1);
        }
        assert_eq!((item.count, item.sum), (2, 1e280));
    }

    #[test]
    fn powers_of_two_are_half_open() {
        for (value, power) in [
            (-3.0, 0),
            (0.0, 0),
            (0.99, 0),
            (1.0, 1),
            (1.99, 1),
            (2.0, 2),
            (1023.0, 10),
            (1024.0, 11),
        ] {
            assert_eq!(power_of_two(value), power, "{value}");
        }
    }
}
