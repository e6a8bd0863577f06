//! What a number of blocks can see, and how many it takes to see more.

use crate::special::{normal_quantile, student_quantile};

use super::decision::ALPHA;
use super::rank_sum::smallest_p;

/// Chance of seeing a difference that is there.
const POWER: f64 = 0.80;
/// Nobody runs more blocks than this.
const MOST: u64 = 10_000;

/// The smallest difference that so many blocks see four times in five: (t₀.₉₇₅ + t₀.₈₀)·s/√K.
///
/// Shape: `spread` is the standard deviation between blocks; at least two blocks
pub fn detectable(spread: f64, blocks: usize) -> f64 {
    let freedom = blocks as f64 - 1.0;
    let quantiles = student_quantile(freedom, 1.0 - ALPHA / 2.0) + student_quantile(freedom, POWER);
    quantiles * spread / (blocks as f64).sqrt()
}

/// Blocks that were there, as far as they predict others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservedBlocks {
    /// Mean difference.
    pub mean: f64,
    /// Standard deviation between blocks.
    pub spread: f64,
    /// How many.
    pub blocks: usize,
    /// Tests among which p-values are corrected.
    pub tests: usize,
}

impl ObservedBlocks {
    /// The end of the 95 % interval that is next to 0; at most 0 if it holds 0, and of one block.
    fn least(&self) -> f64 {
        match self.blocks {
            0 | 1 => 0.0,
            blocks => self.mean.abs() - self.half(1.0 - ALPHA / 2.0, blocks as u64),
        }
    }

    /// Half the width of an interval of so many blocks with this spread.
    fn half(&self, level: f64, blocks: u64) -> f64 {
        student_quantile(blocks as f64 - 1.0, level) * self.spread / (blocks as f64).sqrt()
    }
}

/// How many blocks would decide: enough to see a difference of the margin four times in five, or of what
/// their interval has beyond it, and enough to decide if they went on as the ones before. `None` beyond
/// 10,000.
///
/// Source: (z₀.₉₇₅ + z₀.₈₀)²·(s/Δ)² + 2, which is 7.85·(s/Δ)² + 2 for one test
pub fn blocks_needed(seen: &ObservedBlocks, margin: f64) -> Option<u64> {
    let level = 1.0 - ALPHA / 2.0 / seen.tests.max(1) as f64;
    let sum = normal_quantile(level) + normal_quantile(POWER);
    let by_power = (sum * seen.spread / margin.max(seen.least())).powi(2) + 2.0;
    let from = by_power.ceil().max(seen.blocks as f64 + 1.0);
    if from > MOST as f64 {
        return None;
    }
    (from as u64..=MOST).find(|blocks| decides(seen, margin, *blocks))
}

/// Smallest number of blocks whose smallest p-value, 2/2ᴷ, is still below the level after correction.
pub fn fewest_blocks(tests: usize) -> u64 {
    let deciding = |blocks: u64| tests as f64 * 2.0 / 2_f64.powi(blocks as i32) <= ALPHA;
    (1..64).find(|blocks| deciding(*blocks)).unwrap_or(64)
}

/// Trials on each side, without blocks, that see a difference of the margin four times in five; the two
/// sides have this standard deviation between trials. `None` beyond 10,000.
pub fn trials_needed(spread: f64, margin: f64, tests: usize) -> Option<u64> {
    let level = 1.0 - ALPHA / 2.0 / tests.max(1) as f64;
    let sum = normal_quantile(level) + normal_quantile(POWER);
    let trials = (2.0 * (sum * spread / margin).powi(2) + 2.0).ceil();
    (trials <= MOST as f64).then(|| (trials as u64).max(fewest_trials(tests)))
}

/// Smallest number of trials on each side whose smallest p-value is below the level after correction.
pub fn fewest_trials(tests: usize) -> u64 {
    let deciding = |trials: u64| tests as f64 * smallest_p(trials as usize) <= ALPHA;
    (1..64).find(|trials| deciding(*trials)).unwrap_or(64)
}

/// Whether so many blocks with this mean and spread come to an answer.
fn decides(seen: &ObservedBlocks, margin: f64, blocks: u64) -> bool {
    let half = |level: f64| seen.half(level, blocks);
    let level = 1.0 - ALPHA / 2.0 / seen.tests.max(1) as f64;
    let mean = seen.mean.abs();
    let may = blocks >= fewest_blocks(seen.tests);
    may && mean > half(level) || mean + half(1.0 - ALPHA) < margin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_on_the_spread_are_those_of_the_table() {
        for (blocks, factor) in [(6, 1.43), (8, 1.15), (10, 1.00), (12, 0.89), (20, 0.66)] {
            let seen = detectable(1.0, blocks);
            assert!((seen - factor).abs() < 0.006, "{blocks}: {seen} is not {factor}");
        }
    }

    #[test]
    fn a_spread_of_five_per_cent_sees_what_the_table_says() {
        let per_cent = |blocks| (detectable(0.05, blocks).exp() - 1.0) * 100.0;
        assert!((per_cent(10) - 5.1).abs() < 0.1, "{}", per_cent(10));
        assert!((per_cent(20) - 3.4).abs() < 0.1, "{}", per_cent(20));
    }

    #[test]
    fn a_spread_like_the_margin_takes_ten_blocks() {
        let seen = ObservedBlocks { mean: 0.0, spread: 1.0, blocks: 4, tests: 1 };
        // 7.85 + 2, rounded up.
        assert_eq!(blocks_needed(&seen, 1.0), Some(10));
        assert_eq!(blocks_needed(&ObservedBlocks { tests: 10, ..seen }, 1.0), Some(16));
    }

    #[test]
    fn an_answer_always_takes_more_blocks_than_did_not_give_one() {
        let between = ObservedBlocks { mean: 0.5, spread: 1.0, blocks: 12, tests: 1 };
        let needed = blocks_needed(&between, 1.0).unwrap();
        assert!(needed > 12 && decides(&between, 1.0, needed), "{needed}");
        assert!(!decides(&between, 1.0, needed - 1));
    }

    /// Six blocks of twelve tests cannot show even what is far beyond the margin; nine can.
    #[test]
    fn what_is_far_beyond_the_margin_takes_no_more_blocks_than_can_show_anything() {
        let far = ObservedBlocks { mean: -4.5, spread: 0.1, blocks: 6, tests: 12 };
        assert_eq!(blocks_needed(&far, 0.05), Some(fewest_blocks(12)));
        // Beyond it as well, but not for sure: 0.1 - 2.571·0.2/√6 < 0.
        let unsure = ObservedBlocks { mean: -0.1, spread: 0.2, ..far };
        let around = ObservedBlocks { mean: 0.0, ..unsure };
        assert!(blocks_needed(&unsure, 0.05).unwrap() > 100);
        assert_eq!(blocks_needed(&unsure, 0.05), blocks_needed(&around, 0.05));
    }

    #[test]
    fn a_hopeless_question_has_no_number() {
        let seen = ObservedBlocks { mean: 0.0, spread: 10.0, blocks: 10, tests: 1 };
        assert_eq!(blocks_needed(&seen, 0.01), None);
    }

    #[test]
    fn fewest_blocks_are_those_of_the_sign_flip_test() {
        assert_eq!([1, 2, 12].map(fewest_blocks), [6, 7, 9]);
    }

    #[test]
    fn trials_without_blocks_are_those_of_two_samples() {
        assert_eq!([1, 4].map(fewest_trials), [4, 5]);
        // 2·7.85·1 + 2, rounded up; and never fewer than can decide.
        assert_eq!(trials_needed(1.0, 1.0, 1), Some(18));
        assert_eq!(trials_needed(0.001, 1.0, 1), Some(4));
        assert_eq!(trials_needed(10.0, 0.01, 1), None);
    }
}
