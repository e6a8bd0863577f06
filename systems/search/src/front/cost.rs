//! What a request costs a front on purpose: CPU of its thread, which blocks all else there, as in an event loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU burned for each request; for a share of them, chosen by a seeded hash of their number, another amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// For most.
    pub usual: Duration,
    /// For the rest.
    pub slow: Duration,
    /// How many are the rest, in [0, 1].
    pub slow_share: f64,
    /// Chooses them.
    pub seed: u64,
}

/// Numbers the requests of all threads, and makes each cost what it shall.
#[derive(Debug)]
pub(super) struct Burner {
    cost: Cost,
    number: AtomicU64,
}

impl Burner {
    pub fn new(cost: Cost) -> Self {
        Self { cost, number: AtomicU64::new(0) }
    }

    /// Burns what the next request costs, on this thread.
    pub fn burn(&self) {
        let Cost { usual, slow, .. } = self.cost;
        if usual.is_zero() && slow.is_zero() {
            return;
        }
        let cost = self.cost.of(self.number.fetch_add(1, Ordering::Relaxed));
        let end = thread_cpu() + cost;
        while thread_cpu() < end {
            std::hint::spin_loop();
        }
    }
}

impl Cost {
    /// What the request with this number costs.
    fn of(&self, number: u64) -> Duration {
        // 53 bits, so that the share is exact in a double.
        let chance = (mixed(self.seed ^ mixed(number)) >> 11) as f64 / (1_u64 << 53) as f64;
        if chance < self.slow_share { self.slow } else { self.usual }
    }
}

/// The finalizer of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_millis(2);
    const REST: Duration = Duration::from_millis(70);

    #[test]
    fn the_share_of_slow_ones_is_kept_and_the_seed_chooses_them() {
        let cost = |seed| Cost { usual: MOST, slow: REST, slow_share: 0.2, seed };
        let slow = |seed| (0..10_000).filter(move |number| cost(seed).of(*number) == REST);
        // 2,000 expected with a standard deviation of 40.
        assert!((1_800..2_200).contains(&slow(1).count()), "{}", slow(1).count());
        assert!(slow(1).eq(slow(1)));
        assert!(!slow(1).eq(slow(2)));
    }

    #[test]
    fn none_and_all_are_shares_too() {
        let cost = |slow_share| Cost { usual: MOST, slow: REST, slow_share, seed: 7 };
        assert!((0..1_000).all(|number| cost(0.0).of(number) == MOST));
        assert!((0..1_000).all(|number| cost(1.0).of(number) == REST));
    }

    #[test]
    fn what_is_burned_is_cpu_of_this_thread() {
        let burner =
            Burner::new(Cost { usual: MOST, slow: Duration::ZERO, slow_share: 0.0, seed: 1 });
        let before = thread_cpu();
        burner.burn();
        assert!(thread_cpu() - before >= MOST);
    }
}
