//! Quantiles that a summary does not list, kept from each trial for the shift function.

use std::collections::BTreeMap;

use plan::plan::Plan;
use record::OperationTotals;
use record::folder::names;
use record::summary::Model;
use stats::comparison::shift::POINTS;

use super::metric::ComparedMetric;
use crate::distribution::Values;

/// Nanoseconds at each of the points; `None` where there is no value.
pub(super) type Times = [Option<u64>; POINTS.len()];

/// The points of each trial and compared operation or journey.
#[derive(Debug, Default)]
pub struct Deciles {
    operations: Vec<String>,
    kept: BTreeMap<(u32, String), Times>,
}

impl Deciles {
    /// No trials yet, for the operations whose times the plan compares.
    pub fn new(plan: &Plan) -> Self {
        let is_time =
            |name: &String| ComparedMetric::named(name).is_some_and(ComparedMetric::is_time);
        let timed = plan.comparisons.iter().filter(|one| one.metrics.iter().any(is_time));
        let name = |one: &plan::comparison::Comparison| {
            one.operation.clone().unwrap_or_else(|| names::ALL.to_owned())
        };
        let mut operations: Vec<String> = timed.map(name).collect();
        operations.sort_unstable();
        operations.dedup();
        Self { operations, kept: BTreeMap::new() }
    }

    /// Keeps the points of a trial.
    pub fn add(&mut self, trial: &record::TrialFacts) {
        for operation in &self.operations {
            let totals = if operation == names::ALL {
                Some(trial.totals.total())
            } else {
                let journeys = trial.totals.journeys.iter().map(|journey| &journey.totals);
                let mut parts = trial.totals.operations.iter().chain(journeys);
                parts.find(|one| one.name == *operation).cloned()
            };
            if let Some(totals) = totals {
                let times = points(&totals, trial.load.model);
                self.kept.insert((trial.index, operation.clone()), times);
            }
        }
    }

    pub(super) fn of(&self, trial: u32, operation: &str) -> Option<&Times> {
        self.kept.get(&(trial, operation.to_owned()))
    }
}

/// From the same distribution as the quantiles that are compared.
fn points(totals: &OperationTotals, model: Model) -> Times {
    let values = match model {
        Model::Open => Values::outcomes(totals),
        Model::Closed | Model::Users => Values::all(&totals.service_time),
    };
    POINTS.map(|q| values.at_quantile(q))
}
