//! Random numbers that depend only on the seed: named streams for the schedule, counter-based draws
//! for content. So results never depend on the number of workers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The use of a random number; each use has its own stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum RandomStream {
    /// Start times of the measure phase.
    Schedule = 1,
    /// Start times of the warm-up.
    WarmUp = 2,
    /// Which operation.
    Mix = 3,
    /// Which row.
    Row = 4,
    /// Content of placeholders.
    Content = 5,
    /// Check digits of a nonce.
    Nonce = 6,
    /// Think times.
    Think = 7,
    /// Order of arms within a block.
    Order = 8,
    /// Seeds of trials.
    Trial = 9,
    /// Which arm of a duet an arrival goes to.
    Duet = 10,
    /// Whether a journey takes a step that has a share.
    Share = 11,
    /// Which share of the plan an arrival belongs to.
    PlanShare = 12,
    /// Which arrivals of a list are kept.
    Scale = 13,
}

/// The finaliser of SplitMix64, a bijection that spreads every input bit.
///
/// Source: Steele, Lea & Flood 2014; constants of Vigna's splitmix64.c
pub(crate) fn spread(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// 2⁶⁴ divided by the golden ratio: the increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The `index`-th 64-bit draw of a stream, computed from its counter alone.
pub fn draw(seed: u64, stream: RandomStream, index: u64) -> u64 {
    let key = spread(seed.wrapping_add((stream as u64).wrapping_mul(STEP)));
    spread(key.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
}

/// A draw as a number in (0, 1], in steps of 2⁻⁵³: its logarithm always exists.
pub fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A draw as a whole number below `bound`, which must not be 0. Its bias is below `bound`/2⁶⁴.
pub fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// Exponential gaps of mean 1, from xoshiro256++.
#[derive(Debug, Clone)]
pub(crate) struct Gaps {
    generator: Xoshiro256PlusPlus,
}

impl Gaps {
    pub(crate) fn new(seed: u64, stream: RandomStream) -> Self {
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(draw(seed, stream, 0)) }
    }

    pub(crate) fn next(&mut self) -> f64 {
        -unit(self.generator.next_u64()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_never_zero_and_reach_one() {
        assert_eq!(unit(u64::MAX), 1.0);
        assert!(unit(0) > 0.0);
    }

    #[test]
    fn draws_differ_by_seed_stream_and_index() {
        let draws = [
            draw(1, RandomStream::Mix, 0),
            draw(2, RandomStream::Mix, 0),
            draw(1, RandomStream::Row, 0),
            draw(1, RandomStream::Mix, 1),
        ];
        for (i, a) in draws.iter().enumerate() {
            assert!(draws[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn draws_are_even_over_sixteen_bins() {
        let mut bins = [0_u32; 16];
        for index in 0..160_000 {
            bins[below(draw(7, RandomStream::Mix, index), 16) as usize] += 1;
        }
        // 10,000 expected in each; 4 sigma of a binomial is 388.
        assert!(bins.iter().all(|count| count.abs_diff(10_000) < 388), "{bins:?}");
    }
}
