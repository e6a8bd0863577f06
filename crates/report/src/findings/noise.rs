//! What differs between trials of one arm: the noise that a comparison has to stand out of.

use std::collections::BTreeSet;

use plan::plan::Plan;
use record::folder::names;
use record::summary::{Arm, Finding, Severity, Trial, Validity};

use super::{Noticed, Row, course};
use crate::comparison::metric::Metric;
use crate::number::percent;

/// A/A pairs were executed.
pub const NOISE: Row = Row {
    code: "aa-noise",
    severity: Severity::Info,
    title: "what differs between identical trials",
    explain: "`aa` in `[design]` executes pairs of trials of the baseline arm, which differ by noise \
              alone. Stated is the standard deviation of the log-ratio within a pair, as a percentage: \
              pairs of different arms vary at least as much, so a difference of that size in one block \
              means nothing. These trials are used for nothing else.",
    check: |_| None,
};

/// The finding of the pairs in the plan; none without two usable ones.
pub(crate) fn of_pairs(plan: &Plan, arms: &[Arm]) -> Option<Finding> {
    let pairs = pairs(plan, arms);
    let compared: BTreeSet<(Option<&str>, &str)> = plan
        .comparisons
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
    let arm = arms.get(plan.trials.iter().find(|trial| plan.is_aa(trial.block))?.arm)?;
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
fn pairs<'a>(plan: &Plan, arms: &'a [Arm]) -> Vec<[&'a Trial; 2]> {
    let blocks: BTreeSet<u32> = plan.trials.iter().map(|trial| trial.block).collect();
    let usable = |trial: &&Trial| {
        !trial.superseded && matches!(trial.validity, Validity::Valid | Validity::Noted)
    };
    let pair = |block: u32| {
        let all = arms.iter().flat_map(|arm| &arm.trials);
        let mut trials: Vec<&Trial> = all.filter(usable).filter(|one| one.block == block).collect();
        trials.sort_by_key(|trial| trial.order);
        trials.try_into().ok()
    };
    blocks.into_iter().filter(|block| plan.is_aa(*block)).filter_map(pair).collect()
}

/// Standard deviation about the mean, of two values or more.
fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use plan::comparison::Comparison;
    use plan::plan::TrialPlan;

    use super::*;
    use crate::example;
    use crate::simulated::{One, file, simulate};

    /// Pairs whose second trial is faster and slower by turns, by these factors.
    fn found(factors: &[f64], spoil: bool) -> Option<Finding> {
        let mut arm = example::summary().arms[0].clone();
        let known = arm.trials[0].clone();
        arm.trials.clear();
        let mut planned = Vec::new();
        for (block, factor) in (3..).zip(factors) {
            for (order, factor) in [(1, 1.0), (2, *factor)] {
                let mut trial = known.clone();
                (trial.block, trial.order) = (block, order);
                trial.total.response_time.mean_ns = (1e9 * factor) as u64;
                arm.trials.push(trial);
                planned.push(TrialPlan { index: 1, block, order, arm: 0, seed: 1, duet: false });
            }
        }
        if spoil {
            arm.trials[0].validity = Validity::Invalid;
        }
        let text = file("rate = \"10/s\"\nduration = \"1s\"", &[]);
        let mut plan = simulate(&text, 10, 10, |_| One::answered(1)).plan;
        plan.trials = planned;
        plan.comparisons = vec![Comparison {
            factor: "path".into(),
            baseline: "direct".into(),
            operation: None,
            metrics: vec!["mean".into()],
            margins: Default::default(),
        }];
        of_pairs(&plan, &[arm])
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
