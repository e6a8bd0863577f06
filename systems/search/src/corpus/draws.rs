//! What is drawn, from named generators, so that rows of a seed are the same next year.

use std::ops::Range;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Draws of one row, or one query.
pub(super) struct SeededDraws(SplitMix64);

impl SeededDraws {
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let start = SplitMix64::seed_from_u64(seed).next_u64();
        Self(SplitMix64::seed_from_u64(start ^ number))
    }

    /// One of the numbers from 0 up to `end`, which is small, without it.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((self.0.next_u64() >> 32) * end) >> 32
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Some of them, each at most once, in their order; how many is drawn as well.
    pub(super) fn some<T: Copy>(&mut self, all: &[T], count: Range<u64>) -> Vec<T> {
        let mut wanted = count.start + self.below(count.end - count.start);
        let mut some = Vec::with_capacity(wanted as usize);
        for (number, &one) in all.iter().enumerate() {
            if self.below((all.len() - number) as u64) < wanted {
                some.push(one);
                wanted -= 1;
            }
        }
        some
    }
}

/// A number of 25 bits that no other number below 2²⁵ gives for the seed.
pub(super) fn shuffled(seed: u64, number: u64) -> u64 {
    const BITS: u64 = (1 << 25) - 1;
    let key = SplitMix64::seed_from_u64(seed).next_u64();
    // Each step can be undone within 25 bits: adding, folding the upper half, an odd factor.
    let code = number.wrapping_add(key) & BITS;
    let code = (code ^ (code >> 13)).wrapping_mul(0x9e37_79b1) & BITS;
    let code = (code ^ (code >> 12)).wrapping_mul(0x85eb_ca6b) & BITS;
    code ^ (code >> 13)
}
