//! Time that a worker polls without work to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds in which a worker has polled and found nothing. The worker counts, the self-check reads.
#[derive(Debug, Clone, Default)]
pub struct Polled(Arc<AtomicU64>);

impl Polled {
    /// So far.
    pub fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// For the one thread that counts: nothing is locked.
    pub(crate) fn add(&self, ns: u64) {
        self.0.store(self.ns() + ns, Ordering::Relaxed);
    }
}

/// Tells polling from work by the length of turns, since a turn does not report what it did.
///
/// The shortest turn so far is one that found nothing. One that takes up to four times as long found nothing either, on
/// a processor that has become slower; a longer one is work. So work of less than that is taken for polling. Looks take
/// 0.5 to 0.8 µs where this was measured, and a turn with an answer 20 µs and more. On a processor that has become
/// slower than that, polling is taken for work, and a worker seems busier than it is.
#[derive(Debug)]
pub(crate) struct PollingEstimate {
    shortest: u64,
}

impl PollingEstimate {
    /// Lengths of the shortest turn up to which one is polling.
    const SLACK: u64 = 4;

    pub(crate) fn new() -> Self {
        Self { shortest: u64::MAX }
    }

    /// Nanoseconds of a turn of this length that were polling.
    pub(crate) fn polling_in(&mut self, turn: u64) -> u64 {
        self.shortest = self.shortest.min(turn);
        if turn <= self.shortest.saturating_mul(Self::SLACK) { turn } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_turns_are_work() {
        let (polled, mut turns) = (Polled::default(), PollingEstimate::new());
        let read = polled.clone();
        for turn in [600, 500, 700, 2_000, 2_001, 90_000, 500] {
            polled.add(turns.polling_in(turn));
        }
        assert_eq!(read.ns(), 600 + 500 + 700 + 2_000 + 500);
    }
}
