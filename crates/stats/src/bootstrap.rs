//! Resampling of dependent values: circular blocks keep neighbours together.
//!
//! Drawing values one by one would repeat the error of taking a queue for independent draws. Chance comes from the
//! caller's seed alone.

use crate::chance::Chance;
use crate::moments::deviation;

/// An endless source of resamples: places of values, in circular blocks.
///
/// Source: Politis & Romano 1992, circular block bootstrap
#[derive(Debug)]
pub struct BlockResampler {
    chance: Chance,
    values: usize,
    block: usize,
}

impl BlockResampler {
    /// Of so many values, in blocks of this length. Neither may be 0.
    pub fn new(values: usize, block: usize, seed: u64) -> Self {
        Self { chance: Chance::new(seed), values, block }
    }

    /// The next resample: as many places as there are values.
    pub fn draw(&mut self) -> Vec<usize> {
        let mut places = Vec::with_capacity(self.values + self.block);
        while places.len() < self.values {
            let start = self.chance.below(self.values);
            places.extend((start..start + self.block).map(|place| place % self.values));
        }
        places.truncate(self.values);
        places
    }
}

/// How long blocks must be to keep the dependence of this series: the least of 1, 2, 4, 8 … whose means vary as
/// independent ones would at twice the length (within a tenth), at least ⌈n^⅓⌉, at most n/8 and never 0.
///
/// Shape:  a series without trend, in order of time
pub fn block_length(values: &[f64]) -> usize {
    let limit = (values.len() / 8).max(1);
    let mut length = 1;
    while length < limit
        && variance_of_blocks(values, 2 * length) >= 1.1 * variance_of_blocks(values, length)
    {
        length *= 2;
    }
    let least = (values.len() as f64).cbrt().ceil() as usize;
    length.max(least).min(limit)
}

/// Variance that one value would have if the variance of means over blocks of this length came from independent
/// values: length · Var(block means). `NaN` with fewer than two blocks.
pub fn variance_of_blocks(values: &[f64], length: usize) -> f64 {
    let means: Vec<f64> = values
        .chunks_exact(length)
        .map(|block| block.iter().sum::<f64>() / length as f64)
        .collect();
    length as f64 * deviation(&means).map_or(f64::NAN, |one| one.powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_quantile;

    const SEEDS: u64 = 300;

    /// x_t = ρ·x_{t−1} + ε_t, begun in its stationary law.
    fn autoregressive(seed: u64, rho: f64, count: usize) -> Vec<f64> {
        let mut chance = Chance::new(seed);
        let mut noise = || normal_quantile(chance.unit());
        let mut value = noise() / (1.0 - rho * rho).sqrt();
        let mut next = || {
            value = rho * value + noise();
            value
        };
        (0..count).map(|_| next()).collect()
    }

    /// Share of series whose mean ± 1.96 standard errors of resampled means covers the true mean 0.
    fn coverage(block: impl Fn(&[f64]) -> usize) -> f64 {
        let covers = |seed: u64| {
            let series = autoregressive(seed, 0.9, 600);
            let mean = |places: &[usize]| {
                places.iter().map(|&place| series[place]).sum::<f64>() / places.len() as f64
            };
            let mut blocks = BlockResampler::new(series.len(), block(&series), seed);
            let means: Vec<f64> = (0..200).map(|_| mean(&blocks.draw())).collect();
            mean(&(0..series.len()).collect::<Vec<_>>()).abs() < 1.96 * deviation(&means).unwrap()
        };
        (1..=SEEDS).filter(|&seed| covers(seed)).count() as f64 / SEEDS as f64
    }

    #[test]
    fn blocks_cover_the_mean_of_a_dependent_series_and_single_values_do_not() {
        let (blocks, singly) = (coverage(block_length), coverage(|_| 1));
        assert!((0.85..=0.97).contains(&blocks), "{blocks}");
        assert!(singly < 0.5, "{singly}");
    }

    #[test]
    fn a_resample_is_made_of_whole_blocks_and_repeats_with_its_seed() {
        let places = BlockResampler::new(10, 4, 7).draw();
        assert_eq!(places.len(), 10);
        for block in places.chunks(4) {
            assert!(block.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 10), "{places:?}");
        }
        assert_eq!(places, BlockResampler::new(10, 4, 7).draw());
        assert_ne!(places, BlockResampler::new(10, 4, 8).draw());
    }

    #[test]
    fn independent_values_need_short_blocks_and_dependent_ones_long() {
        assert_eq!(block_length(&[1.0, 2.0, 3.0]), 1);
        let short = block_length(&autoregressive(1, 0.0, 512));
        let long = block_length(&autoregressive(1, 0.9, 512));
        assert_eq!(short, 8);
        assert!((16..=64).contains(&long), "{long}");
    }
}
