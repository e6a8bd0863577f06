//! What differs between trials of one arm: the noise that a comparison has to stand out of.

use std::collections::BTreeSet;

use plan::comparison::Comparison;
use record::folder::names;
use record::summary::{Arm, CountsFor, Finding, Severity, Trial};
use stats::deviation;

use super::{Noticed, Row, course};
use crate::comparison::metric::Metric;
use plan::number::percent;

/// A/A pairs were executed.
pub const NOISE: Row = Row {
    code: "aa-noise",
    severity: Severity::Info,
    clearest: None,
    title: "what differs between identical trials",
    explain: "`aa` in `[design]` executes pairs of trials of the baseline arm, which differ by noise \
              alone. Stated is the standard deviation of the log-ratio within a pair, as a percentage: \
              pairs of different arms vary at least as much, so a difference of that size in one block \
              means nothing. These trials are used for nothing else.",
    check: |_| None,
};

/// The finding of the pairs, in what is compared; none without two usable ones.
pub(crate) fn of_pairs(comparisons: &[Comparison], arms: &[Arm]) -> Option<Finding> {
    // All of them are of one arm, the baseline.
    let (arm, pairs) =
        arms.iter().map(|arm| (arm, pairs(arm))).find(|(_, pairs)| !pairs.is_empty())?;
    let compared: BTreeSet<(Option<&str>, &str)> = comparisons
        .iter()
        .flat_map(|one| {
            one.metrics.iter().map(|metric| (one.operation.as_deref(), metric.as_str()))
        })
        .collect();
    let mut noticed =
        Noticed::new("", "hold the comparisons against it").with("pairs", pairs.len());
    let mut parts = Vec::new();
    for (operation, metric) in compared {
        let Some(known) = Metric::named(metric).filter(|one| *one != Metric::Failed) else {
            continue;
        };
        let value = |trial: &Trial| known.value(trial, operation.unwrap_or(names::ALL));
        let ratio = |[first, second]: &[&Trial; 2]| {
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
    let found = course::of_run(&NOISE, noticed);
    (!parts.is_empty()).then(|| Finding { arm: Some(arm.name.clone()), ..found })
}

/// Both trials of each A/A block, in the order of their execution.
fn pairs(arm: &Arm) -> Vec<[&Trial; 2]> {
    let is_noise = |trial: &&Trial| trial.counts_for == CountsFor::Noise && trial.is_usable();
    let mut noise: Vec<&Trial> = arm.trials.iter().filter(is_noise).collect();
    noise.sort_by_key(|trial| (trial.block, trial.order));
    let blocks = noise.chunk_by(|one, other| one.block == other.block);
    blocks.filter_map(|block| block.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use record::summary::Validity;

    use super::*;
    use crate::example;

    /// Pairs whose second trial is faster and slower by turns, by these factors.
    fn found(factors: &[f64], spoil: bool) -> Option<Finding> {
        let mut arm = example::summary().arms[0].clone();
        let known = Trial { counts_for: CountsFor::Noise, ..arm.trials[0].clone() };
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
        of_pairs(&[compared], &[arm])
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
