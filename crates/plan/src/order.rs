//! The order of trials: every arm once a block, in random order.

use crate::plan::TrialPlan;
use crate::randomness::{Stream, below, draw};

/// Trials of so many arms over so many blocks. All arms of a block share a seed, so that they
/// meet the same schedule.
pub(crate) fn trials(arms: usize, blocks: u32, seed: u64) -> Vec<TrialPlan> {
    let mut trials = Vec::with_capacity(arms * blocks as usize);
    for block in 1..=blocks {
        let shuffled = shuffled(arms, draw(seed, Stream::Order, u64::from(block)));
        let trial_seed = draw(seed, Stream::Trial, u64::from(block));
        for (order, arm) in (1..).zip(shuffled) {
            let index = trials.len() as u32 + 1;
            trials.push(TrialPlan { index, block, order, arm, seed: trial_seed });
        }
    }
    trials
}

/// 0..count in an order drawn from the seed.
///
/// Source: Fisher & Yates as in Knuth, TAOCP 2, algorithm 3.4.2P
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = below(draw(seed, Stream::Order, last as u64), last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_holds_every_arm_once_under_one_seed() {
        let trials = trials(5, 8, 7);
        assert_eq!(trials.len(), 40);
        for block in trials.chunks(5) {
            let mut arms: Vec<usize> = block.iter().map(|trial| trial.arm).collect();
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 2, 3, 4]);
            assert!(block.iter().all(|trial| trial.seed == block[0].seed));
        }
        assert_ne!(trials[0].seed, trials[5].seed);
    }

    #[test]
    fn every_arm_comes_first_about_equally_often() {
        let mut first = [0_u32; 4];
        for trial in trials(4, 4000, 3).iter().filter(|trial| trial.order == 1) {
            first[trial.arm] += 1;
        }
        // 1,000 each; 4 sigma is 110.
        assert!(first.iter().all(|count| count.abs_diff(1000) < 110), "{first:?}");
    }
}
