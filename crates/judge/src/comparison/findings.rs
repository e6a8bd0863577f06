//! Findings from blocks beside the comparison itself: that it is undecided, that the effect does not follow the dose,
//! and that trials differ more than their own intervals predict.

use std::collections::BTreeSet;

use plan::plan::Plan;
use record::summary::{Arm, Comparison, Finding, TrialSummary};
use serde_json::Value;
use stats::comparison::correction::holm;
use stats::comparison::decision::ALPHA;
use stats::comparison::paired;

use super::amount::amounts;
use super::blocks::{Block, Blocks};
use super::planned::{PlannedComparison, planned_comparisons};
use crate::findings::design::{self, Level};
use crate::findings::{Subject, findings};

/// Findings about the comparisons of a run; a rehearsal has none. Dose steps with mostly `crowded` trials (by number)
/// give no finding.
pub fn of(
    plan: &Plan,
    arms: &[Arm],
    comparisons: &[Comparison],
    crowded: &BTreeSet<u32>,
) -> Vec<Finding> {
    if plan.rehearsal || comparisons.is_empty() {
        return Vec::new();
    }
    let undecided = comparisons.iter().flat_map(|one| findings(Subject::Comparison(one)));
    let repeats = arms.iter().flat_map(|arm| findings(Subject::Arm(arm)));
    undecided.chain(doses(plan, arms, crowded)).chain(repeats).collect()
}

/// One finding for each factor of amounts, stratum and metric whose effect goes up and down again.
fn doses(plan: &Plan, arms: &[Arm], crowded: &BTreeSet<u32>) -> Vec<Finding> {
    let all = planned_comparisons(plan);
    // The first comparison represents its group.
    let same = |one: &PlannedComparison<'_>, other: &PlannedComparison<'_>| {
        (one.factor, one.operation, one.name) == (other.factor, other.operation, other.name)
            && one.stratum == other.stratum
    };
    let firsts = all
        .iter()
        .enumerate()
        .filter(|(place, one)| !all[..*place].iter().any(|before| same(before, one)));
    let of = |(_, first): (usize, &PlannedComparison<'_>)| {
        let group: Vec<&PlannedComparison<'_>> =
            all.iter().filter(|one| same(one, first)).collect();
        dose_order(plan, arms, &group, crowded)
    };
    firsts.filter_map(of).collect()
}

/// Compares neighbouring doses: one step must be certainly up and another certainly down, among all steps. One
/// crowded step leaves the order of all steps in doubt.
fn dose_order(
    plan: &Plan,
    arms: &[Arm],
    group: &[&PlannedComparison<'_>],
    crowded: &BTreeSet<u32>,
) -> Option<Finding> {
    let first = group.first()?;
    let mut levels = vec![(first.baseline, first.arms[0])];
    levels.extend(group.iter().map(|question| (question.candidate, question.arms[1])));
    let doses =
        in_order(levels, |(level, arm)| arms[arm].values.get(first.factor).unwrap_or(level))?;
    let value = |trial: &TrialSummary| first.metric.value(trial, first.operation);
    let step = |pair: &[(&Value, usize)]| {
        let blocks = Blocks::of(&arms[pair[0].1], &arms[pair[1].1]);
        if blocks.mostly_hold(crowded) {
            return None;
        }
        let logarithm = |low: f64, high: f64| (low > 0.0 && high > 0.0).then(|| (high / low).ln());
        let of = |block: &Block<'_>| logarithm(value(block.baseline)?, value(block.candidate)?);
        let differences: Vec<f64> = blocks.usable.iter().filter_map(of).collect();
        Some(paired(&differences, plan.seed)?.difference)
    };
    let steps: Vec<_> = doses.windows(2).map(step).collect::<Option<_>>()?;
    let p = holm(&steps.iter().map(|step| step.p).collect::<Vec<_>>());
    let certain = |sign: f64| {
        steps.iter().zip(&p).position(|(step, p)| {
            let differs = *p <= ALPHA && step.interval.is_some_and(|one| one.is_beyond(0.0));
            differs && step.estimate * sign > 0.0
        })
    };
    let (up, down) = (certain(1.0)?, certain(-1.0)?);
    let dose = |place: usize| [doses[place].0, doses[place + 1].0];
    let level = Level { factor: first.factor, operation: first.operation, metric: first.name };
    Some(design::dose_order(&level, dose(up), dose(down)))
}

/// The levels by amount, ascending; `None` where the value of one is not an amount.
fn in_order<'a>(
    levels: Vec<(&'a Value, usize)>,
    value: impl Fn((&'a Value, usize)) -> &'a Value,
) -> Option<Vec<(&'a Value, usize)>> {
    let amounts = amounts(levels.iter().map(|level| value(*level)))?;
    let mut doses: Vec<_> = amounts.into_iter().zip(levels).collect();
    doses.sort_by(|one, other| one.0.total_cmp(&other.0));
    Some(doses.into_iter().map(|(_, level)| level).collect())
}
