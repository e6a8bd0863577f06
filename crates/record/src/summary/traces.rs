//! Operations that are listed one by one, where a run is traced.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Status, TraceId, WindowSpan};

/// Slowest operations that a trial lists.
pub const SLOWEST_LISTED: usize = 100;
/// Failures that its summary lists.
pub const FAILURES_SHOWN: usize = 100;
/// Failures that its events list.
pub const FAILURES_LISTED: u64 = 10_000;

/// The operations that a trial lists.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traces {
    /// The hundred slowest of those that carried a trace id, the slowest first: by response time in an open load, by
    /// service time in any other.
    pub slowest: Vec<ListedOperation>,
    /// The first hundred failures, in order of their intended starts.
    pub failures: Vec<ListedOperation>,
    /// Operations that failed, or were abandoned and carried a trace id.
    pub failures_total: u64,
    /// Those of them that are not listed among the trial's events either.
    pub failures_unlisted: u64,
}

/// One operation of the measure phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListedOperation {
    /// Its name.
    pub operation: String,
    /// Journey and step that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Its place in the schedule; that of the journey for a step.
    pub index: u64,
    /// Its intended start, from the start of the measure phase.
    pub at_ns: i64,
    /// `succeeded`, `abandoned`, or the kind of failure.
    pub outcome: String,
    /// Status: a code, 0 if there was none, or a name.
    pub status: Status,
    /// From the intended start to the dispatch.
    pub dispatch_lag_ns: u64,
    /// From the dispatch to a free connection.
    pub queue_wait_ns: u64,
    /// From there to the first byte: connecting where necessary, and encoding.
    pub prepare_ns: u64,
    /// From the first byte to the end.
    pub service_time_ns: u64,
    /// The sum of these four.
    pub response_time_ns: u64,
    /// Spans that were stamped, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spans: BTreeMap<String, u64>,
    /// What its request carried; none where nothing was sent, or nothing of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
}

impl ListedOperation {
    /// The time by which it is slow, in nanoseconds.
    pub fn time(&self, by: WindowSpan) -> u64 {
        match by {
            WindowSpan::ResponseTime => self.response_time_ns,
            _ => self.service_time_ns,
        }
    }

    fn place(&self) -> (i64, u64, &str) {
        (self.at_ns, self.index, &self.operation)
    }
}

impl Traces {
    /// Adds slow operations; those stay that are slowest by this time.
    pub fn add_slowest(&mut self, more: impl IntoIterator<Item = ListedOperation>, by: WindowSpan) {
        self.slowest.extend(more);
        self.slowest.sort_by(|a, b| b.time(by).cmp(&a.time(by)).then(a.place().cmp(&b.place())));
        self.slowest.truncate(SLOWEST_LISTED);
    }

    /// Adds failures to those shown; the first stay. Counts nothing.
    pub fn add_failures(&mut self, more: impl IntoIterator<Item = ListedOperation>) {
        self.failures.extend(more);
        self.failures.sort_by(|a, b| a.place().cmp(&b.place()));
        self.failures.truncate(FAILURES_SHOWN);
    }

    /// Adds what another share of the same trial lists.
    pub fn join(&mut self, other: Self, by: WindowSpan) {
        self.add_slowest(other.slowest, by);
        self.add_failures(other.failures);
        self.failures_total += other.failures_total;
        self.failures_unlisted += other.failures_unlisted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(index: u64, response_time_ns: u64) -> ListedOperation {
        ListedOperation {
            index,
            at_ns: index.cast_signed(),
            response_time_ns,
            service_time_ns: 1_000 - response_time_ns,
            ..ListedOperation::default()
        }
    }

    #[test]
    fn the_slowest_of_two_shares_are_those_of_their_union() {
        for by in [WindowSpan::ResponseTime, WindowSpan::ServiceTime] {
            let mut all: Vec<ListedOperation> =
                (0..300).map(|index| listed(index, index * 7 % 300)).collect();
            let mut whole = Traces::default();
            for share in 0..3 {
                let mut part = Traces { failures_total: 2, ..Traces::default() };
                part.add_slowest(all.iter().filter(|one| one.index % 3 == share).cloned(), by);
                assert_eq!(part.slowest.len(), 100);
                whole.join(part, by);
            }
            all.sort_by_key(|one| std::cmp::Reverse(one.time(by)));
            assert_eq!(whole.slowest, all[..100], "{by:?}");
            assert_eq!(whole.failures_total, 6);
        }
    }

    #[test]
    fn of_equal_times_the_earlier_counts_as_slower() {
        let mut traces = Traces::default();
        traces.add_slowest((0..150).rev().map(|index| listed(index, 5)), WindowSpan::ResponseTime);
        let indices: Vec<u64> = traces.slowest.iter().map(|one| one.index).collect();
        assert_eq!(indices, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn failures_that_are_shown_are_the_first() {
        let mut traces = Traces::default();
        traces.add_failures((100..250).map(|index| listed(index, 1)));
        traces.add_failures((50..60).map(|index| listed(index, 1)));
        let indices: Vec<u64> = traces.failures.iter().map(|one| one.index).collect();
        assert_eq!(indices, (50..60).chain(100..190).collect::<Vec<_>>());
    }
}
