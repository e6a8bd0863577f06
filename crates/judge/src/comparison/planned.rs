//! Which arms are compared: each other level of the factor with the baseline, in each combination of the other
//! factors.

use std::collections::BTreeMap;

use plan::plan::Plan;
use record::folder::names;
use serde_json::Value;

use super::metric::ComparedMetric;

/// One level, one stratum, one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedComparison<'a> {
    pub factor: &'a str,
    pub stratum: BTreeMap<String, Value>,
    pub baseline: &'a Value,
    pub candidate: &'a Value,
    pub operation: &'a str,
    pub name: &'a str,
    pub metric: ComparedMetric,
    pub margin: f64,
    /// Places of baseline and candidate among the arms.
    pub arms: [usize; 2],
}

/// Every comparison of the plan, in the order of the file, then of arms, then of metrics.
///
/// An arm whose baseline is not part of the plan is not compared.
pub fn planned_comparisons(plan: &Plan) -> Vec<PlannedComparison<'_>> {
    plan.comparisons.iter().flat_map(|declared| of(plan, declared)).collect()
}

fn of<'a>(
    plan: &'a Plan,
    declared: &'a plan::comparison::Comparison,
) -> Vec<PlannedComparison<'a>> {
    let mut comparisons = Vec::new();
    for (place, arm) in plan.arms.iter().enumerate() {
        let Some(candidate) = arm.factors.get(&declared.factor) else { continue };
        if *candidate == declared.baseline {
            continue;
        }
        let mut stratum = arm.factors.clone();
        stratum.remove(&declared.factor);
        let mut wanted = stratum.clone();
        wanted.insert(declared.factor.clone(), declared.baseline.clone());
        let Some(baseline) = plan.arms.iter().position(|other| other.factors == wanted) else {
            continue;
        };
        let named =
            declared.metrics.iter().filter_map(|name| Some((name, ComparedMetric::named(name)?)));
        comparisons.extend(named.map(|(name, metric)| PlannedComparison {
            factor: &declared.factor,
            stratum: stratum.clone(),
            baseline: &declared.baseline,
            candidate,
            operation: declared.operation.as_deref().unwrap_or(names::ALL),
            name,
            metric,
            margin: declared.margins.get(name).copied().unwrap_or(metric.default_margin()),
            arms: [baseline, place],
        }));
    }
    comparisons
}
