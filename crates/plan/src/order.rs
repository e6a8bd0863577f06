//! The order of trials: every arm once per block, and pairs of the same arm between the blocks.

use crate::plan::TrialPlan;
use crate::randomness::{RandomStream, below, draw};

/// The order of the arms within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// Drawn from the seed, for each block.
    #[default]
    Random,
    /// Forwards, backwards, backwards, forwards, and so on: linear drift cancels out over two
    /// blocks, and accelerating drift over four.
    Abba,
}

/// The number and kind of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Blocks of all arms.
    pub(crate) count: u32,
    /// The order within them.
    pub(crate) order: Order,
    /// Blocks of two trials of one arm: their number, and the arm.
    pub(crate) aa: Option<(u32, usize)>,
    /// Whether the two trials of a block are executed at the same time.
    pub(crate) duet: bool,
    /// How many of them may lack a trial.
    pub(crate) spare: u32,
}

/// Trials of this many arms. All trials of a block share a seed, so they get the same schedule.
///
/// Blocks of one arm have numbers after the others, and are spread evenly among them.
pub(crate) fn trials(arms: usize, blocks: &Blocks, seed: u64) -> Vec<TrialPlan> {
    let mut trials = Vec::new();
    let (pairs, alone) = blocks.aa.unwrap_or_default();
    let mut paired = 0;
    for block in 1..=blocks.count {
        add(&mut trials, block, &within(arms, block, blocks.order, seed), seed, blocks.duet);
        while paired < pairs && due(paired + 1, pairs, blocks.count) <= block {
            paired += 1;
            add(&mut trials, blocks.count + paired, &[alone, alone], seed, blocks.duet);
        }
    }
    trials
}

/// The block after which this pair comes.
fn due(pair: u32, pairs: u32, blocks: u32) -> u32 {
    (u64::from(pair) * u64::from(blocks)).div_ceil(u64::from(pairs)) as u32
}

fn add(trials: &mut Vec<TrialPlan>, block: u32, arms: &[usize], seed: u64, duet: bool) {
    let seed = draw(seed, RandomStream::Trial, u64::from(block));
    for (order, &arm) in (1..).zip(arms) {
        let index = trials.len() as u32 + 1;
        trials.push(TrialPlan { index, block, order, arm, seed, duet });
    }
}

fn within(arms: usize, block: u32, order: Order, seed: u64) -> Vec<usize> {
    match order {
        Order::Random => shuffled(arms, draw(seed, RandomStream::Order, u64::from(block))),
        Order::Abba if matches!(block % 4, 0 | 1) => (0..arms).collect(),
        Order::Abba => (0..arms).rev().collect(),
    }
}

/// 0..count in an order drawn from the seed.
///
/// Source: Fisher & Yates as in Knuth, TAOCP 2, algorithm 3.4.2P
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = below(draw(seed, RandomStream::Order, last as u64), last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: u32) -> Blocks {
        Blocks { count, order: Order::Random, aa: None, duet: false, spare: 0 }
    }

    #[test]
    fn every_block_holds_every_arm_once_under_one_seed() {
        let trials = trials(5, &random(8), 7);
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
        for trial in trials(4, &random(4000), 3).iter().filter(|trial| trial.order == 1) {
            first[trial.arm] += 1;
        }
        // 1,000 each; 4 sigma is 110.
        assert!(first.iter().all(|count| count.abs_diff(1000) < 110), "{first:?}");
    }

    #[test]
    fn abba_cancels_what_drifts_evenly_and_what_drifts_ever_faster() {
        let blocks = Blocks { order: Order::Abba, ..random(8) };
        let trials = trials(2, &blocks, 1);
        let arms: String = trials.iter().map(|trial| ["A", "B"][trial.arm]).collect();
        assert_eq!(arms, "ABBABAABABBABAAB");
        for power in [1, 2] {
            let sum = |arm: usize| -> u64 {
                let own = trials.iter().filter(|trial| trial.arm == arm);
                own.map(|trial| u64::from(trial.index).pow(power)).sum()
            };
            assert_eq!(sum(0), sum(1), "drift of power {power}");
        }
    }

    #[test]
    fn pairs_of_one_arm_are_spread_among_the_blocks_and_numbered_after_them() {
        let blocks = Blocks { aa: Some((2, 1)), ..random(4) };
        let trials = trials(3, &blocks, 1);
        let numbers: Vec<u32> = trials.iter().map(|trial| trial.block).collect();
        assert_eq!(numbers, [1, 1, 1, 2, 2, 2, 5, 5, 3, 3, 3, 4, 4, 4, 6, 6]);
        let pairs: Vec<&TrialPlan> = trials.iter().filter(|trial| trial.block > 4).collect();
        assert!(pairs.iter().all(|trial| trial.arm == 1));
        assert_eq!((pairs[0].order, pairs[1].order), (1, 2));
        assert_eq!(pairs[0].seed, pairs[1].seed);
        let indices: Vec<u32> = trials.iter().map(|trial| trial.index).collect();
        assert_eq!(indices, (1..=16).collect::<Vec<u32>>());
        let many = super::trials(2, &Blocks { aa: Some((5, 0)), ..random(2) }, 1);
        assert_eq!(many.len(), 2 * 2 + 5 * 2, "more pairs than blocks");
    }
}
