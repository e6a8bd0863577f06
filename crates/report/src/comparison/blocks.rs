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
    /// Of a trial that was repeated the last usable one counts.
    pub fn of(baseline: &'a Arm, candidate: &'a Arm) -> Self {
        let both = baseline.trials.iter().chain(&candidate.trials);
        let mut numbers: Vec<u32> = both.map(|trial| trial.block).collect();
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
}

fn usable(arm: &Arm, block: u32) -> Option<&Trial> {
    arm.trials.iter().rev().find(|trial| trial.block == block && is_usable(trial))
}

/// Whether nothing stands against using a trial.
pub(super) fn is_usable(trial: &Trial) -> bool {
    matches!(trial.validity, Validity::Valid | Validity::Noted)
}
