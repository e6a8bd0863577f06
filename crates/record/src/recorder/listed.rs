//! The operations that a worker lists, where the run is traced: the slowest that carry a trace id, and all that failed.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::summary::{ListedOperation, SLOWEST_LISTED};
use crate::{Layout, Outcome, Sample, Spans, Status, TraceId, WindowSpan};

/// An operation that is listed, as its worker keeps it.
#[derive(Debug, Clone)]
pub struct ListedSample {
    operation: usize,
    step: Option<StepPlace>,
    index: u64,
    /// Intended, dispatched, acquired, started, finished.
    instants: [u64; 5],
    outcome: Outcome,
    status: Status,
    spans: Spans,
    trace: Option<TraceId>,
}

/// A step of a journey, by its place in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepPlace {
    /// Index of the journey among the journeys.
    pub journey: usize,
    /// Index of the step among those that perform something.
    pub step: usize,
}

/// How a worker lists operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    /// The time by which operations are slow.
    pub by: WindowSpan,
    /// Failures that are listed at most; the rest is counted.
    pub failures: u64,
}

/// What a worker has listed by the end.
#[derive(Debug, Clone, Default)]
pub struct ListedSamples {
    /// The slowest, in no order.
    pub slowest: Vec<ListedSample>,
    /// Failures of the measure phase, listed or not.
    pub failures_total: u64,
}

/// Lists operations of the measure phase.
#[derive(Debug)]
pub(super) struct Lister {
    listing: Listing,
    /// The least of them first.
    slowest: BinaryHeap<Reverse<Ranked>>,
    /// Operations that took less are not among the slowest.
    threshold: u64,
    /// Those of an operation that is no longer listed.
    spare: Spans,
    failures: Vec<ListedSample>,
    failures_total: u64,
}

/// An operation by its time; where times are equal, the one that was due earlier counts as slower, so that the order
/// depends on no worker.
#[derive(Debug)]
struct Ranked {
    time: u64,
    sample: ListedSample,
}

impl Lister {
    pub(super) fn new(listing: Listing) -> Self {
        Self {
            listing,
            slowest: BinaryHeap::with_capacity(SLOWEST_LISTED + 1),
            threshold: 0,
            spare: Spans::none(),
            failures: Vec::new(),
            failures_total: 0,
        }
    }

    /// Takes an operation of the measure phase that has ended.
    pub(super) fn end(&mut self, sample: &Sample<'_>) {
        let time = match self.listing.by {
            WindowSpan::ResponseTime => sample.response_time(),
            _ => sample.service_time(),
        };
        if time >= self.threshold && sample.trace.is_some() {
            self.keep(time, sample);
        }
        let is_failure = match sample.outcome {
            Outcome::Succeeded => false,
            Outcome::Failed(_) => true,
            Outcome::Abandoned => sample.trace.is_some(),
        };
        if is_failure {
            self.failures_total += 1;
            if self.failures_total <= self.listing.failures {
                self.failures.push(ListedSample::of(sample, Spans::none()));
            }
        }
    }

    /// The failures that were listed since the last call.
    pub(super) fn take_failures(&mut self) -> Vec<ListedSample> {
        std::mem::take(&mut self.failures)
    }

    pub(super) fn finish(self) -> ListedSamples {
        let slowest = self.slowest.into_iter().map(|Reverse(ranked)| ranked.sample).collect();
        ListedSamples { slowest, failures_total: self.failures_total }
    }

    fn keep(&mut self, time: u64, sample: &Sample<'_>) {
        let spans = std::mem::take(&mut self.spare);
        self.slowest.push(Reverse(Ranked { time, sample: ListedSample::of(sample, spans) }));
        if self.slowest.len() > SLOWEST_LISTED {
            self.spare =
                self.slowest.pop().map(|Reverse(least)| least.sample.spans).unwrap_or_default();
            self.threshold = self.slowest.peek().map_or(0, |Reverse(least)| least.time);
        }
    }
}

impl ListedSample {
    /// `spans` is memory to be used again.
    fn of(sample: &Sample<'_>, mut spans: Spans) -> Self {
        spans.copy_values(sample.spans);
        Self {
            operation: sample.operation,
            step: sample.step,
            index: sample.index,
            instants: [
                sample.intended_at,
                sample.dispatched_at,
                sample.acquired_at,
                sample.started_at,
                sample.finished_at,
            ],
            outcome: sample.outcome,
            status: sample.status,
            spans,
            trace: sample.trace,
        }
    }

    /// The same with the names of this layout; instants count from `measure_from`.
    pub fn named(&self, layout: &Layout, measure_from: u64) -> ListedOperation {
        let [intended, dispatched, acquired, started, finished] = self.instants;
        let spans = layout.spans.iter().enumerate();
        let step = self.step.and_then(|place| {
            let journey = layout.journeys.get(place.journey)?;
            Some(format!("{}: {}", journey.name, journey.steps.get(place.step)?))
        });
        ListedOperation {
            operation: layout.name(self.operation).to_owned(),
            step,
            index: self.index,
            at_ns: intended.cast_signed().wrapping_sub(measure_from.cast_signed()),
            outcome: match self.outcome {
                Outcome::Succeeded => "succeeded".to_owned(),
                Outcome::Failed(kind) => kind.name().to_owned(),
                Outcome::Abandoned => "abandoned".to_owned(),
            },
            status: self.status,
            dispatch_lag_ns: dispatched - intended,
            queue_wait_ns: acquired - dispatched,
            prepare_ns: started - acquired,
            service_time_ns: finished - started,
            response_time_ns: finished - intended,
            spans: spans
                .filter_map(|(place, name)| Some((name.clone(), self.spans.get(place)?)))
                .collect(),
            trace_id: self.trace,
        }
    }
}

impl Ranked {
    fn key(&self) -> (u64, Reverse<(u64, u64, usize)>) {
        let ListedSample { instants, index, operation, .. } = &self.sample;
        (self.time, Reverse((instants[0], *index, *operation)))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Ranked {}
