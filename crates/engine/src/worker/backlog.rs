//! Limits raw samples that were handed over but not taken yet, so that a slow disk does not fill
//! the memory.
//!
//! A worker that waited for the disk would be late, and windows are small and always needed. So
//! only samples are dropped, a whole batch at a time, and counted. Used once per window.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of waiting samples for each worker; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    limit: u64,
    /// By worker.
    waiting: Arc<[AtomicU64]>,
}

impl Backlog {
    /// Nothing waits; `limit` is the most for each worker.
    pub(crate) fn new(workers: usize, limit: u64) -> Self {
        Self { limit, waiting: (0..workers).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds samples if they are within the limit, and returns whether they are. If none wait, any
    /// number is allowed.
    pub(crate) fn admit(&self, worker: usize, samples: u64) -> bool {
        let waiting = &self.waiting[worker];
        let before = waiting.load(Ordering::Relaxed);
        let fits = before == 0 || before + samples <= self.limit;
        if fits {
            waiting.fetch_add(samples, Ordering::Relaxed);
        }
        fits
    }

    /// Removes samples that were taken.
    pub(crate) fn taken(&self, worker: usize, samples: u64) {
        self.waiting[worker].fetch_sub(samples, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_wait_up_to_the_limit_of_their_worker() {
        let backlog = Backlog::new(2, 100);
        assert!(backlog.admit(0, 60) && backlog.admit(0, 40));
        assert!(!backlog.admit(0, 1), "refused, and not counted as waiting");
        assert!(backlog.admit(1, 100), "each worker has its own");
        backlog.clone().taken(0, 60);
        assert!(!backlog.admit(0, 61));
        assert!(backlog.admit(0, 60));
    }

    #[test]
    fn one_window_is_never_too_large_by_itself() {
        let backlog = Backlog::new(1, 10);
        assert!(backlog.admit(0, 1_000));
        assert!(!backlog.admit(0, 1));
        backlog.taken(0, 1_000);
        assert!(backlog.admit(0, 1));
    }
}
