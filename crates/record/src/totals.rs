//! Every count and histogram of a measure phase, mergeable over workers.

use std::collections::BTreeMap;

use stats::Histogram;

use crate::FailureKind;
use crate::summary::TailShare;

/// Names that samples refer to by index, the same for all workers of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Operations of the mix.
    pub operations: Vec<String>,
    /// Item names of each operation.
    pub items: Vec<Vec<String>>,
    /// Spans: `connect`, `tls`, then the driver's.
    pub spans: Vec<String>,
}

/// Counts and histograms of one operation.
#[derive(Debug, Clone)]
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
    /// By [`FailureKind::index`].
    pub failures: Vec<u64>,
    /// By status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Succeeded ones, intended start to complete answer.
    pub response_time: Histogram,
    /// Succeeded ones, first byte out to last byte in.
    pub service_time: Histogram,
    /// All finished ones.
    pub queue_wait: Histogram,
    /// By span index of the layout; all finished ones that carried it.
    pub spans: Vec<Histogram>,
    /// By item index of the layout.
    pub items: Vec<ItemTotals>,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
}

/// A declared number read from answers.
#[derive(Debug, Clone, Default)]
pub struct ItemTotals {
    /// Operations that carried it.
    pub count: u64,
    /// Over all of them.
    pub sum: f64,
    /// Response time by power of two of the item: entry k for values in [2^(k−1), 2^k), entry 0 for values below 1.
    pub response_time: BTreeMap<u32, Histogram>,
}

/// Everything of a trial.
#[derive(Debug, Clone)]
pub struct Totals {
    /// By operation index of the layout.
    pub operations: Vec<OperationTotals>,
    /// All dispatched operations.
    pub dispatch_lag: Histogram,
    /// Parts of response time, by bucket of response time.
    pub tail: TailBreakdown,
}

impl Totals {
    /// Empty totals with memory touched.
    pub fn new(_layout: &Layout) -> Self {
        todo!()
    }

    /// Adds another worker's.
    pub fn merge(&mut self, _other: &Self) {
        todo!()
    }

    /// All operations together, named `all`; items are left out.
    pub fn total(&self) -> OperationTotals {
        todo!()
    }
}

impl OperationTotals {
    /// Failures of this kind.
    pub fn failures_of(&self, kind: FailureKind) -> u64 {
        self.failures[kind.index()]
    }
}

/// Sums of the four parts of response time for each bucket of response time, so that the share of
/// each part in the tail is known afterwards without raw samples.
#[derive(Debug, Clone)]
pub struct TailBreakdown {}

impl TailBreakdown {
    /// Shares of the parts among operations with response time at or above `threshold_ns`
    /// (whole buckets).
    pub fn share_from(&self, _threshold_ns: u64) -> TailShare {
        todo!()
    }

    /// Operations whose dispatch lag exceeds their bucket... replaced by the owner as needed.
    pub fn count_from(&self, _threshold_ns: u64) -> u64 {
        todo!()
    }
}
