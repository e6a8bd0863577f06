//! The blocks of two arms in which both trials may be used.

use record::summary::{Arm, Trial, Validity};

/// Two trials of one block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub number: u32,
    pub baseline: &'a Trial,
    pub candidate: &'a Trial,
}

/// Usable blocks in their order, and the numbers of the others.
#[derive(Debug, Clone, Default)]
pub struct Blocks<'a> {
    pub usable: Vec<Block<'a>>,
    pub left_out: Vec<u32>,
}

impl<'a> Blocks<'a> {
    /// Of a trial that was repeated the last usable one counts. Blocks of one arm alone, which tell the
    /// noise, are passed over.
    pub fn of(is_aa: impl Fn(u32) -> bool, baseline: &'a Arm, candidate: &'a Arm) -> Self {
        let both = baseline.trials.iter().chain(&candidate.trials);
        let mut numbers: Vec<u32> = both.map(|trial| trial.block).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut blocks = Self::default();
        for number in numbers.into_iter().filter(|number| !is_aa(*number)) {
            match (usable(baseline, number), usable(candidate, number)) {
                (Some(baseline), Some(candidate)) => {
                    blocks.usable.push(Block { number, baseline, candidate });
                }
                _ => blocks.left_out.push(number),
            }
        }
        blocks
    }
}

fn usable(arm: &Arm, block: u32) -> Option<&Trial> {
    arm.trials.iter().rev().find(|trial| trial.block == block && is_usable(trial))
}

/// Whether nothing stands against using a trial.
pub(super) fn is_usable(trial: &Trial) -> bool {
    matches!(trial.validity, Validity::Valid | Validity::Noted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// An arm with trials of these blocks.
    fn arm(blocks: &[u32]) -> Arm {
        let mut arm = example::summary().arms[0].clone();
        let known = arm.trials[0].clone();
        arm.trials = blocks.iter().map(|block| Trial { block: *block, ..known.clone() }).collect();
        arm
    }

    #[test]
    fn pairs_of_one_arm_are_neither_used_nor_missed() {
        let (one, other) = (arm(&[1, 2, 3, 3, 4, 5]), arm(&[1, 2]));
        for (baseline, candidate) in [(&one, &other), (&other, &one)] {
            let blocks = Blocks::of(|block| block == 3 || block == 5, baseline, candidate);
            let usable: Vec<u32> = blocks.usable.iter().map(|block| block.number).collect();
            assert_eq!(
                (usable, blocks.left_out),
                (vec![1, 2], vec![4]),
                "the fourth lacks a trial, and the fifth is half a pair"
            );
        }
    }
}
