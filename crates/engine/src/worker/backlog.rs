//! Raw samples that were handed over and not taken yet: a slow disk must not fill the memory.
//!
//! A worker that waited for the disk would be late, and windows are small and always needed. So
//! only samples are dropped, a whole hand-over at a time, and counted. Touched once a window.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has how many samples waiting; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    limit: u64,
    /// By worker.
    waiting: Arc<[AtomicU64]>,
}

impl Backlog {
    /// Nothing waits; of each worker at most so many may.
    pub(crate) fn new(workers: usize, limit: u64) -> Self {
        Self { limit, waiting: (0..workers).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Whether so many more may wait; they do from now on. Where none wait, any number may.
    pub(crate) fn admit(&self, worker: usize, samples: u64) -> bool {
        let waiting = &self.waiting[worker];
        let before = waiting.load(Ordering::Relaxed);
        let fits = before == 0 || before + samples <= self.limit;
        if fits {
            waiting.fetch_add(samples, Ordering::Relaxed);
        }
        fits
    }

    /// So many do not wait any more.
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
