//! Draws the trace ids of a worker's operations.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU128;

use plan::trace::TraceContext;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// How the operations of a trial get their trace ids.
#[derive(Debug, Clone)]
pub(crate) struct Tracing {
    share: f64,
    seed: [u8; 32],
}

/// The draws of one worker.
#[derive(Debug)]
pub(super) struct Tracer {
    generator: Xoshiro256PlusPlus,
    /// An operation whose draw is below it gets an id; `None` where each gets one.
    below: Option<u64>,
}

impl Tracing {
    /// Ids for this part of the operations, seeded by the system: another run of the same plan must not have the same.
    pub(crate) fn new(share: f64) -> Self {
        let mut seed = [0; 32];
        for word in seed.chunks_exact_mut(8) {
            word.copy_from_slice(&RandomState::new().hash_one(share.to_bits()).to_le_bytes());
        }
        Self { share, seed }
    }

    /// The draws of this worker: a stretch of the sequence that no other worker comes to.
    pub(super) fn tracer(&self, worker: usize) -> Tracer {
        let mut generator = Xoshiro256PlusPlus::from_seed(self.seed);
        (0..worker).for_each(|_| generator.jump());
        let below = (self.share < 1.0).then(|| (self.share * 2_f64.powi(64)) as u64);
        Tracer { generator, below }
    }
}

impl Tracer {
    /// What the next operation carries, if it carries anything.
    pub(super) fn draw(&mut self) -> Option<TraceContext> {
        if self.below.is_some_and(|below| self.generator.next_u64() >= below) {
            return None;
        }
        // Ids of zeros are invalid.
        loop {
            let [high, low] = [(); 2].map(|()| u128::from(self.generator.next_u64()));
            let drawn = NonZeroU128::new(high << 64 | low).and_then(TraceContext::of);
            if drawn.is_some() {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_workers_trials_or_operations_have_an_id_in_common() {
        let mut ids = BTreeSet::new();
        for _ in 0..2 {
            let tracing = Tracing::new(1.0);
            for worker in 0..3 {
                let mut tracer = tracing.tracer(worker);
                ids.extend((0..1_000).filter_map(|_| tracer.draw()).map(|one| one.trace_id));
            }
        }
        assert_eq!(ids.len(), 6_000);
    }

    /// A binomial count is within five of its standard deviations but once in a million runs.
    #[test]
    fn a_share_of_the_operations_has_ids() {
        for share in [0.01, 0.25, 0.9] {
            let mut tracer = Tracing::new(share).tracer(0);
            let draws = 100_000;
            let traced = (0..draws).filter(|_| tracer.draw().is_some()).count() as f64;
            let (mean, deviation) =
                (share * f64::from(draws), (f64::from(draws) * share * (1.0 - share)).sqrt());
            assert!((traced - mean).abs() < 5.0 * deviation, "{traced} of {draws}, share {share}");
        }
    }
}
