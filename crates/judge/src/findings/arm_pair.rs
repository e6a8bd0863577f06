//! Two arms that differ in one level only and offer the same load.

use record::summary::{Arm, TrialSummary};

use super::design::plain;
use crate::concurrency;

/// Two arms that differ in one level only.
#[derive(Debug, Clone)]
pub(super) struct ArmPair<'a> {
    /// Both arms.
    pub arms: [&'a Arm; 2],
    /// The factor in which they differ.
    pub factor: &'a str,
    /// The level of each, as `path = direct`.
    pub levels: [String; 2],
    /// Their common levels of other factors, as `connections = 10`.
    pub stratum: String,
}

impl<'a> ArmPair<'a> {
    /// The pair of these arms; `None` unless they differ in one level only, with the same load.
    pub(super) fn of(arms: [&'a Arm; 2]) -> Option<Self> {
        let [one, other] = arms.map(|arm: &'a Arm| &arm.factors);
        let mut differing = one
            .iter()
            .filter(|(name, level)| other.get(*name).is_some_and(|other| other != *level));
        let (factor, _) = differing.next()?;
        let others = one.iter().filter(|(name, _)| *name != factor);
        let others: Vec<String> =
            others.map(|(name, level)| format!("{name} = {}", plain(level))).collect();
        let alike = differing.next().is_none() && one.len() == other.len();
        let pair = Self {
            arms,
            factor,
            levels: [one, other].map(|levels| format!("{factor} = {}", plain(&levels[factor]))),
            stratum: others.join(", "),
        };
        let [one, other] = pair.blocks().first()?.map(load);
        (alike && one == other).then_some(pair)
    }

    /// Usable trials of both arms by block; trials without a partner are left out.
    pub(super) fn blocks(&self) -> Vec<[&'a TrialSummary; 2]> {
        let usable = |arm: &'a Arm| arm.counted().filter(|trial| trial.is_usable());
        let [one, other] = self.arms;
        let partner = |one: &TrialSummary| usable(other).find(|other| other.block == one.block);
        usable(one).filter_map(|one| Some([one, partner(one)?])).collect()
    }

    /// ` at connections = 10`, or nothing.
    pub(super) fn place(&self) -> String {
        if self.stratum.is_empty() { String::new() } else { format!(" at {}", self.stratum) }
    }
}

pub(super) fn load(trial: &TrialSummary) -> (u32, Option<u32>, Option<u64>) {
    (concurrency::limit(&trial.load), trial.load.users, trial.load.offered_rate.map(f64::to_bits))
}
