//! Differences between trials of the same arm: the noise that a compared effect must exceed.

use std::collections::BTreeSet;

use record::folder::names;
use record::summary::{Arm, CountsFor, Severity, TrialSummary};
use stats::deviation;

use super::kind::{Check, FindingKind, Noticed};
use crate::case::RunView;
use crate::comparison::metric::{self, ComparedMetric};
use plan::number::percent;

/// A/A pairs were executed.
pub const NOISE: FindingKind = FindingKind {
    code: "aa-noise",
    severity: Severity::Info,
    clearest: None,
    title: "what differs between identical trials",
    explain: "`aa` in `[design]` executes pairs of trials of the baseline arm, which differ by noise \
              alone. Stated is the standard deviation of the log-ratio within a pair, as a percentage: \
              pairs of different arms vary at least as much, so a difference of that size in one block \
              means nothing. These trials are used for nothing else.",
    check: Check::Run(of_pairs),
};

/// Trials differ more than their intervals predict.
pub const REPEATS_WORSE: FindingKind = FindingKind {
    code: "repeats-worse",
    severity: Severity::Info,
    clearest: Some("deviation_seen"),
    title: "trials on this machine differ more than their own intervals predict",
    explain: "Medians of the same arm differ from trial to trial more than twice as much as the interval \
              within each trial predicts. Memory layout, placement of threads and neighbours change \
              between trials and not within one. More or longer operations in a trial do not help \
              against that; more blocks do.",
    check: Check::Arm(repeats_worse),
};

/// Trials of an arm that are needed to know how much they differ.
const TRIALS: usize = 6;
/// How much larger than predicted the spread must be.
const WORSE: f64 = 2.0;
/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.959_964;

/// The finding about A/A pairs, in the compared metrics; none without two usable pairs.
fn of_pairs(&RunView { comparisons, arms, .. }: &RunView<'_>) -> Option<Noticed> {
    // All pairs are of one arm, the baseline.
    let (arm, pairs) =
        arms.iter().map(|arm| (arm, pairs(arm))).find(|(_, pairs)| !pairs.is_empty())?;
    let compared: BTreeSet<(Option<&str>, &str)> = comparisons
        .iter()
        .flat_map(|one| {
            one.metrics.iter().map(|metric| (one.operation.as_deref(), metric.as_str()))
        })
        .collect();
    let mut noticed =
        Noticed::new("", "compare the differences between arms with it").with("pairs", pairs.len());
    let mut parts = Vec::new();
    for (operation, metric) in compared {
        let Some(known) =
            ComparedMetric::named(metric).filter(|one| *one != ComparedMetric::Failed)
        else {
            continue;
        };
        let value = |trial: &TrialSummary| known.value(trial, operation.unwrap_or(names::ALL));
        let ratio = |[first, second]: &[&TrialSummary; 2]| {
            let ratio = value(second)? / value(first)?;
            Some(ratio.ln()).filter(|ratio| ratio.is_finite())
        };
        let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
        let Some(deviation) = deviation(&ratios) else { continue };
        let name = [operation, Some(metric)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        parts.push(format!("{name} {}", percent(deviation.exp_m1())));
        noticed = noticed.with(&format!("{name} log_ratio_sd"), deviation);
    }
    noticed.claim = format!(
        "two trials of {} differ by noise alone: {} (standard deviation over {} A/A pairs)",
        arm.name,
        parts.join(", "),
        pairs.len()
    );
    (!parts.is_empty()).then(|| noticed.in_arm(&arm.name))
}

/// Compares how much the medians of an arm's trials differ with the prediction from their own intervals.
fn repeats_worse(arm: &Arm) -> Option<Noticed> {
    let usable: Vec<&TrialSummary> = arm.counted().filter(|trial| trial.is_usable()).collect();
    let mut logarithms = Vec::new();
    let mut squares = 0.0;
    for trial in &usable {
        let metric = ComparedMetric::Quantile(0.5);
        let times = metric::times(metric, trial, &trial.total);
        let entry = times.quantiles.iter().find(|entry| entry.q == 0.5)?;
        let (observed, low, high) = (entry.observed_ns?, entry.low_ns?, entry.high_ns?);
        if low == 0 {
            return None;
        }
        logarithms.push((observed as f64).ln());
        squares += ((high as f64 / low as f64).ln() / (2.0 * HALF_WIDTH)).powi(2);
    }
    let predicted = (squares / usable.len().max(1) as f64).sqrt();
    let seen = deviation(&logarithms)?;
    let worse = usable.len() >= TRIALS && predicted > 0.0 && seen > WORSE * predicted;
    let claim = format!(
        "trials on this machine differ more than their own intervals predict: medians of {} trials of {} by {} \
         (standard deviation), where {} is predicted",
        usable.len(),
        arm.name,
        percent(seen),
        percent(predicted)
    );
    let advice = "spend time on more blocks rather than on longer trials";
    worse.then(|| {
        Noticed::new(claim, advice)
            .with("trials", usable.len())
            .with("deviation_seen", seen)
            .with("deviation_predicted", predicted)
    })
}

/// Both trials of each A/A block, in order of execution.
fn pairs(arm: &Arm) -> Vec<[&TrialSummary; 2]> {
    let is_noise =
        |trial: &&TrialSummary| trial.counts_for == CountsFor::Noise && trial.is_usable();
    let mut noise: Vec<&TrialSummary> = arm.trials.iter().filter(is_noise).collect();
    noise.sort_by_key(|trial| (trial.block, trial.order));
    let blocks = noise.chunk_by(|one, other| one.block == other.block);
    blocks.filter_map(|block| block.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use plan::comparison::Comparison;
    use record::summary::{Machine, Validity};

    use super::*;
    use crate::example;

    /// Pairs whose second trial takes this many times as long as the first.
    fn found(factors: &[f64], spoil: bool) -> Option<Noticed> {
        let mut arm = example::summary().arms[0].clone();
        let known = TrialSummary { counts_for: CountsFor::Noise, ..arm.trials[0].clone() };
        arm.trials.clear();
        for (block, factor) in (3..).zip(factors) {
            for (order, factor) in [(1, 1.0), (2, *factor)] {
                let mut trial = known.clone();
                (trial.block, trial.order) = (block, order);
                trial.total.response_time.mean_ns = (1e9 * factor) as u64;
                arm.trials.push(trial);
            }
        }
        if spoil {
            arm.trials[0].validity = Validity::Invalid;
        }
        let compared = Comparison {
            factor: "path".into(),
            baseline: "direct".into(),
            operation: None,
            metrics: vec!["mean".into()],
            margins: Default::default(),
        };
        let (comparisons, arms) = (&[compared], &[arm]);
        of_pairs(&RunView { comparisons, arms, machine: &Machine::default(), questions: 1 })
    }

    #[test]
    fn the_noise_is_the_deviation_of_log_ratios_within_pairs() {
        // Logarithms −s, s, −s, s have the standard deviation s·√(4/3).
        let step = 0.03_f64;
        let factors = [(-step).exp(), step.exp(), (-step).exp(), step.exp()];
        let found = found(&factors, false).unwrap();
        let deviation = found.evidence["mean log_ratio_sd"].as_f64().unwrap();
        assert!((deviation - step * (4.0_f64 / 3.0).sqrt()).abs() < 1e-6, "{deviation}");
        assert!(found.claim.contains("mean 3.52 %"), "{}", found.claim);
        assert_eq!(found.evidence["pairs"], 4);
    }

    #[test]
    fn one_pair_has_no_spread() {
        assert_eq!(found(&[1.1], false), None);
        assert_eq!(found(&[1.1, 0.9], true), None, "of two pairs one is spoiled");
        assert!(found(&[1.1, 0.9], false).is_some());
    }
}
