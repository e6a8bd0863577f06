//! Where the time of slow operations went, without raw samples.

use serde::{Deserialize, Serialize};
use stats::{COARSE, Histogram};

use crate::Sample;
use crate::summary::TailShare;

/// Sums of the four parts of response time for each bucket of response time, so that the share of
/// each part in the tail is known afterwards. Succeeded operations; coarse buckets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Sparse", from = "Sparse")]
pub struct TailBreakdown {
    parts: Box<[Parts]>,
}

/// Sums over the operations of one bucket, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Parts {
    operations: u64,
    dispatch_lag: u64,
    queue_wait: u64,
    prepare: u64,
    service_time: u64,
}

/// Buckets that hold something, as they are stored.
type Sparse = Vec<(usize, Parts)>;

impl From<TailBreakdown> for Sparse {
    fn from(whole: TailBreakdown) -> Self {
        let parts = whole.parts.iter().copied().enumerate();
        parts.filter(|(_, parts)| parts.operations > 0).collect()
    }
}

impl From<Sparse> for TailBreakdown {
    fn from(sparse: Sparse) -> Self {
        let mut whole = Self::default();
        for (bucket, parts) in sparse {
            if let Some(place) = whole.parts.get_mut(bucket) {
                *place = parts;
            }
        }
        whole
    }
}

impl Default for TailBreakdown {
    fn default() -> Self {
        let touched = Parts { operations: 1, ..Parts::default() };
        let mut parts =
            vec![touched; Histogram::bucket_index(COARSE, u64::MAX) + 1].into_boxed_slice();
        std::hint::black_box(&mut parts).fill(Parts::default());
        Self { parts }
    }
}

impl TailBreakdown {
    /// Counts one succeeded operation.
    pub(crate) fn record(&mut self, sample: &Sample<'_>) {
        self.parts[Histogram::bucket_index(COARSE, sample.response_time())].add(&Parts {
            operations: 1,
            dispatch_lag: sample.dispatch_lag(),
            queue_wait: sample.queue_wait(),
            prepare: sample.prepare(),
            service_time: sample.service_time(),
        });
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.add(theirs);
        }
    }

    /// Shares of the parts among operations with response time at or above `threshold_ns`
    /// (the whole bucket that holds the threshold is in).
    pub fn share_from(&self, threshold_ns: u64) -> TailShare {
        let sums = self.from(threshold_ns);
        let whole = sums.dispatch_lag as f64
            + sums.queue_wait as f64
            + sums.prepare as f64
            + sums.service_time as f64;
        let share = |part: u64| if whole > 0.0 { part as f64 / whole } else { 0.0 };
        TailShare {
            dispatch_lag: share(sums.dispatch_lag),
            queue_wait: share(sums.queue_wait),
            prepare: share(sums.prepare),
            service_time: share(sums.service_time),
        }
    }

    /// How many operations [`Self::share_from`] speaks of.
    pub fn count_from(&self, threshold_ns: u64) -> u64 {
        self.from(threshold_ns).operations
    }

    fn from(&self, threshold_ns: u64) -> Parts {
        let mut sums = Parts::default();
        for parts in &self.parts[Histogram::bucket_index(COARSE, threshold_ns)..] {
            sums.add(parts);
        }
        sums
    }
}

impl Parts {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.dispatch_lag += other.dispatch_lag;
        self.queue_wait += other.queue_wait;
        self.prepare += other.prepare;
        self.service_time += other.service_time;
    }
}
