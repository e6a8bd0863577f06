//! The finding that the generator limits one of two compared arms, or both.

use record::summary::{Model, Severity, TrialSummary};

use super::arm_pair::ArmPair;
use super::kind::{Check, FindingKind, Noticed};
use crate::case::RunView;
use plan::number::percent;

/// A worker that uses more than this share of its core limits the load.
pub(super) const BUSY: f64 = 0.9;

/// The generator limits an arm of a comparison.
pub const COMPARED_WHILE_BOUND: FindingKind = FindingKind {
    code: "compared-while-generator-bound",
    severity: Severity::Warning,
    clearest: None,
    title: "the generator limits an arm of a comparison",
    explain: "Two arms of a closed load differ in one level alone, and in most trials of one of them a worker of the \
              generator was busy more than 90 % of the time: its throughput is that of the generator and a lower bound \
              of the target's, and its service times hold the wait for the generator. Where the other arm left the \
              worker time, the difference is not that of the targets: with the slower arm it is larger than shown. Where \
              both arms are limited so, that they do alike shows nothing. Add workers on cores of their own, or offer \
              both a rate that they hold and compare times.",
    check: Check::Run(compared_while_bound),
};

/// The pair of arms with the busiest worker.
pub(super) fn compared_while_bound(&RunView { arms, .. }: &RunView<'_>) -> Option<Noticed> {
    let pairs = (1..).zip(arms).flat_map(|(from, one)| {
        arms.iter().skip(from).filter_map(move |other| ArmPair::of([one, other]))
    });
    let seen: Vec<BoundPair<'_>> = pairs.filter_map(BoundPair::of).collect();
    let most = seen.iter().max_by(|a, b| a.busy[0].total_cmp(&b.busy[0]))?;
    let [bound, other] = &most.levels;
    let [busy, others_busy] = most.busy.map(percent);
    let place = most.pair.place();
    let claim = match (most.both, most.goodput[0] >= most.goodput[1]) {
        (true, _) => format!(
            "the generator was the limit with {bound} and with {other}{place} (a worker used {busy} and {others_busy} of \
             its core): how they compare is no property of the targets"
        ),
        (false, true) => format!(
            "the generator was the limit with {bound}{place} (a worker used {busy} of its core) and not with {other} \
             ({others_busy}): {bound} may do more, so that {other} costs at least what is shown"
        ),
        (false, false) => format!(
            "the generator was the limit with {bound}{place} (a worker used {busy} of its core) and not with {other} \
             ({others_busy}): {bound} may do more, so that they may differ by less than is shown"
        ),
    };
    let advice = "add workers with `--workers`, or compare times at a rate that both hold";
    let noticed = Noticed::new(claim, advice)
        .with("cpu_ratio", most.busy[0])
        .with("cpu_ratio_of_the_other", most.busy[1])
        .with("pairs", seen.len());
    Some(noticed)
}

/// A pair with an arm that the generator limits; that arm comes first.
struct BoundPair<'a> {
    pair: ArmPair<'a>,
    levels: [String; 2],
    busy: [f64; 2],
    goodput: [f64; 2],
    both: bool,
}

impl<'a> BoundPair<'a> {
    fn of(pair: ArmPair<'a>) -> Option<Self> {
        let trials = pair.arms.map(|arm| -> Vec<&TrialSummary> {
            arm.counted().filter(|trial| trial.is_usable()).collect()
        });
        let limits = trials.each_ref().map(|trials| is_bound(trials));
        let first = limits.iter().position(|bound| *bound)?;
        let order = if first == 0 { [0, 1] } else { [1, 0] };
        Some(Self {
            levels: order.map(|at| pair.levels[at].clone()),
            busy: order.map(|at| mean(&trials[at], |trial| trial.generator.cpu_ratio)),
            goodput: order.map(|at| mean(&trials[at], |trial| trial.rates.goodput)),
            both: limits == [true; 2],
            pair,
        })
    }
}

/// Whether the generator limits most of these trials.
fn is_bound(trials: &[&TrialSummary]) -> bool {
    let bound = trials
        .iter()
        .filter(|trial| trial.load.model != Model::Open && trial.generator.cpu_ratio > BUSY);
    bound.count() * 2 > trials.len()
}

fn mean(trials: &[&TrialSummary], of: fn(&TrialSummary) -> f64) -> f64 {
    trials.iter().map(|trial| of(trial)).sum::<f64>() / trials.len().max(1) as f64
}
