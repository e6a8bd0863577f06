//! The blocks of two arms in which both trials may be used.

use std::collections::BTreeSet;

use record::summary::{Arm, CountsFor, TrialSummary};

/// Two trials of one block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub number: u32,
    pub baseline: &'a TrialSummary,
    pub candidate: &'a TrialSummary,
}

/// Usable blocks in order, and the numbers of the others.
#[derive(Debug, Clone, Default)]
pub struct Blocks<'a> {
    pub usable: Vec<Block<'a>>,
    pub left_out: Vec<u32>,
}

impl<'a> Blocks<'a> {
    /// A block is also left out if its repetition has no usable trial. A/A pairs are skipped.
    pub fn of(baseline: &'a Arm, candidate: &'a Arm) -> Self {
        let both = baseline.trials.iter().chain(&candidate.trials);
        let compared = both.filter(|trial| trial.counts_for != CountsFor::Noise);
        let mut numbers: Vec<u32> = compared.map(|trial| trial.block).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut blocks = Self::default();
        for number in numbers {
            match (usable(baseline, number), usable(candidate, number)) {
                (Some(baseline), Some(candidate)) => {
                    blocks.usable.push(Block { number, baseline, candidate });
                }
                _ => blocks.left_out.push(number),
            }
        }
        blocks
    }

    /// How many usable blocks contain one of these trials.
    pub fn holding(&self, trials: &BTreeSet<u32>) -> usize {
        let holds = |block: &&Block<'_>| {
            [block.baseline, block.candidate].iter().any(|trial| trials.contains(&trial.index))
        };
        self.usable.iter().filter(holds).count()
    }

    /// Whether most usable blocks contain one of these trials.
    pub fn mostly_hold(&self, trials: &BTreeSet<u32>) -> bool {
        self.holding(trials) * 2 > self.usable.len()
    }
}

fn usable(arm: &Arm, block: u32) -> Option<&TrialSummary> {
    arm.counted().rev().find(|trial| trial.block == block && trial.is_usable())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// An arm with trials of these blocks; the third and the fifth trial belong to A/A pairs.
    fn arm(blocks: &[u32]) -> Arm {
        let mut arm = example::summary().arms[0].clone();
        let known = arm.trials[0].clone();
        let trial = |&block: &u32| {
            let is_aa = matches!(block, 3 | 5);
            let counts_for = if is_aa { CountsFor::Noise } else { CountsFor::Judgement };
            TrialSummary { block, counts_for, ..known.clone() }
        };
        arm.trials = blocks.iter().map(trial).collect();
        arm
    }

    #[test]
    fn pairs_of_one_arm_are_neither_used_nor_missed() {
        let (one, other) = (arm(&[1, 2, 3, 3, 4, 5]), arm(&[1, 2]));
        for (baseline, candidate) in [(&one, &other), (&other, &one)] {
            let blocks = Blocks::of(baseline, candidate);
            let usable: Vec<u32> = blocks.usable.iter().map(|block| block.number).collect();
            assert_eq!(
                (usable, blocks.left_out),
                (vec![1, 2], vec![4]),
                "the fourth lacks a trial, and the fifth is half a pair"
            );
        }
    }
}
