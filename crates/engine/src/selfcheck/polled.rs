//! Time that a worker polls with nothing to do, which is no work of its.

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

/// Tells polling from work by the length of turns: nobody says what a turn did.
///
/// The shortest turn so far is one that found nothing. One that takes up to twice as long found nothing either; of a
/// longer one only as much as the shortest is polling, and the rest is work.
#[derive(Debug)]
pub(crate) struct Turns {
    shortest: u64,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { shortest: u64::MAX }
    }

    /// How much of a turn of so many nanoseconds was polling.
    pub(crate) fn polling_in(&mut self, turn: u64) -> u64 {
        self.shortest = self.shortest.min(turn);
        if turn <= self.shortest.saturating_mul(2) { turn } else { self.shortest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_turns_are_work_but_for_one_look() {
        let (polled, mut turns) = (Polled::default(), Turns::new());
        let read = polled.clone();
        for turn in [600, 500, 700, 1_000, 1_001, 90_000, 500] {
            polled.add(turns.polling_in(turn));
        }
        // 600 + 500 + 700 + 1,000 found nothing; 500 of 1,001, 500 of 90,000; and 500.
        assert_eq!(read.ns(), 2_800 + 500 + 500 + 500);
    }
}
