//! Chance that depends on its seed alone: the same comparison is the same on every machine.

/// A sequence of draws.
///
/// Source: SplitMix64, Steele, Lea & Flood 2014
#[derive(Debug)]
pub(super) struct Randomness(u64);

impl Randomness {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A whole number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}
