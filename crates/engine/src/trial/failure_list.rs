//! Failures that are listed one by one: so many of a trial, in messages of bounded size.

use record::ListedSample;
use record::event::EventKind;
use record::summary::{ListedOperation, Traces};
use record::{Layout, Listing};

/// Failures in one event: a message between machines has a limit, and this is less than half of it.
const IN_ONE_EVENT: usize = 200;

/// The failures of a trial, as its workers report them.
#[derive(Debug)]
pub(super) struct FailureList {
    limit: u64,
    listed: u64,
    /// Holds the first of them.
    shown: Traces,
}

impl FailureList {
    pub(super) fn new(listing: Listing) -> Self {
        Self { limit: listing.failures, listed: 0, shown: Traces::default() }
    }

    /// Takes failures of a worker; returns the events that list them.
    pub(super) fn add(
        &mut self,
        failures: &[ListedSample],
        layout: &Layout,
        measure_from: u64,
    ) -> Vec<EventKind> {
        let room = usize::try_from(self.limit - self.listed).unwrap_or(usize::MAX);
        let failures = &failures[..failures.len().min(room)];
        self.listed += failures.len() as u64;
        let named = |failures: &[ListedSample]| {
            failures.iter().map(|one| one.named(layout, measure_from)).collect()
        };
        let chunks = failures.chunks(IN_ONE_EVENT).map(|chunk| {
            let failures: Vec<ListedOperation> = named(chunk);
            self.shown.add_failures(failures.iter().cloned());
            EventKind::FailuresListed { failures }
        });
        chunks.collect()
    }

    /// Completes what the workers have counted.
    pub(super) fn complete(&mut self, traces: &mut Traces) {
        traces.failures = std::mem::take(&mut self.shown.failures);
        traces.failures_unlisted = traces.failures_total.saturating_sub(self.listed);
    }
}
