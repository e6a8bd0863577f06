//! The value that a trial gives to a comparison.

use record::summary::{Distribution, Model, Operation, TrialSummary};

/// Default margins.
const RATE_MARGIN: f64 = 0.05;
const TAIL_MARGIN: f64 = 0.10;
const FAILED_MARGIN: f64 = 0.001;
/// Quantiles from here on have the margin of the tail.
const TAIL_FROM: f64 = 0.99;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComparedMetric {
    /// Operations that succeeded, per second.
    Goodput,
    /// Operations that ended, per second, whether they succeeded or failed.
    Completed,
    /// Share of planned operations that did not succeed: failed, abandoned or missed.
    Failed,
    /// Mean time of succeeded operations.
    Mean,
    /// A quantile, in [0, 1].
    Quantile(f64),
}

impl ComparedMetric {
    /// The metric with this name, such as `goodput` or `p99.9`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "goodput" => Some(Self::Goodput),
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            "mean" => Some(Self::Mean),
            _ => {
                let percentile: f64 = name.strip_prefix('p')?.parse().ok()?;
                // 99.9 / 100 is not the number nearest to 0.999, so it is rounded to one in a million.
                let q = (percentile * 10_000.0).round() / 1_000_000.0;
                (q > 0.0 && q < 1.0).then_some(Self::Quantile(q))
            }
        }
    }

    /// The margin within which levels count as equal if the experiment names none: 5 %; 10 % from p99 on; 0.1
    /// percentage points for failures.
    pub fn default_margin(self) -> f64 {
        match self {
            Self::Failed => FAILED_MARGIN,
            Self::Quantile(q) if q >= TAIL_FROM => TAIL_MARGIN,
            _ => RATE_MARGIN,
        }
    }

    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Mean | Self::Quantile(_))
    }

    /// Field of the summary that it is read from.
    pub fn source(self, model: Model) -> &'static str {
        match (self, model) {
            (Self::Goodput | Self::Completed, _) => "rates",
            (Self::Failed, _) => "accounting",
            (_, Model::Closed | Model::Users) => "service_time",
            (Self::Mean, Model::Open) => "response_time",
            (Self::Quantile(_), Model::Open) => "outcome_time",
        }
    }

    /// The value of a trial: nanoseconds, per second, or a share. `None` for an operation that the trial
    /// does not have, and for a quantile that falls among operations that never succeeded.
    pub fn value(self, trial: &TrialSummary, operation: &str) -> Option<f64> {
        let one = part(trial, operation)?;
        let seconds = trial.phases.measure_ns as f64 / 1e9;
        match self {
            // For a single operation the summary does not say how many ended in the drain.
            Self::Goodput if is_whole(operation) => Some(trial.rates.goodput),
            Self::Completed if is_whole(operation) => Some(trial.rates.completed),
            Self::Goodput => (seconds > 0.0).then(|| one.succeeded as f64 / seconds),
            Self::Completed => {
                (seconds > 0.0).then(|| (one.succeeded + one.failed) as f64 / seconds)
            }
            Self::Failed => {
                let (failed, planned) = failures(one);
                (planned > 0).then(|| failed as f64 / planned as f64)
            }
            Self::Mean => {
                let times = times(self, trial, one);
                (times.count > 0).then_some(times.mean_ns as f64)
            }
            Self::Quantile(q) => {
                let listed = times(self, trial, one).quantiles.iter();
                let mut entry = listed.filter(|entry| entry.q == q);
                entry.next()?.observed_ns.map(|observed| observed as f64)
            }
        }
    }
}

/// The distribution that a time is read from. For an open load it is the response time, with failures slower than all
/// others in its quantiles; otherwise it is the service time.
pub(crate) fn times<'a>(
    metric: ComparedMetric,
    trial: &TrialSummary,
    one: &'a Operation,
) -> &'a Distribution {
    match metric.source(trial.load.model) {
        "outcome_time" => &one.outcome_time,
        "response_time" => &one.response_time,
        _ => &one.service_time,
    }
}

/// Operations that did not succeed, and all that were planned.
pub(super) fn failures(one: &Operation) -> (u64, u64) {
    (one.planned.saturating_sub(one.succeeded), one.planned)
}

/// The numbers of one operation or journey of a trial, or of all operations.
pub(super) fn part<'a>(trial: &'a TrialSummary, operation: &str) -> Option<&'a Operation> {
    if is_whole(operation) {
        return Some(&trial.total);
    }
    let journeys = trial.journeys.iter().map(|journey| &journey.whole);
    trial.operations.iter().chain(journeys).find(|one| one.name == operation)
}

fn is_whole(operation: &str) -> bool {
    operation == record::folder::names::ALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn names_are_those_of_the_experiment_file() {
        for name in plan::comparison::METRICS {
            assert!(ComparedMetric::named(name).is_some(), "{name}");
        }
        assert_eq!(ComparedMetric::named("p99.9"), Some(ComparedMetric::Quantile(0.999)));
        assert_eq!(ComparedMetric::named("p99.99"), Some(ComparedMetric::Quantile(0.9999)));
        for unknown in ["p", "p0", "p100", "average", ""] {
            assert_eq!(ComparedMetric::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn an_open_load_is_compared_in_outcome_time_and_a_closed_one_in_service_time() {
        let mut summary = example::summary();
        let trial = &mut summary.arms[0].trials[0];
        let p99 = ComparedMetric::Quantile(0.99);
        let outcome = trial.total.outcome_time.quantiles[4].observed_ns.unwrap() as f64;
        assert_eq!(p99.value(trial, "all"), Some(outcome));
        trial.load.model = Model::Closed;
        let service = trial.total.service_time.quantiles[4].observed_ns.unwrap() as f64;
        assert_eq!(p99.value(trial, "all"), Some(service));
        assert_ne!(outcome, service);
    }

    #[test]
    fn a_quantile_among_failures_has_no_value() {
        let mut summary = example::summary();
        let trial = &mut summary.arms[0].trials[0];
        trial.total.outcome_time.quantiles[4].observed_ns = None;
        assert_eq!(ComparedMetric::Quantile(0.99).value(trial, "all"), None);
        assert_eq!(ComparedMetric::Quantile(0.99).value(trial, "nobody"), None);
    }

    #[test]
    fn failures_are_a_share_of_what_was_planned() {
        let summary = example::summary();
        let trial = &summary.arms[0].trials[0];
        let share = ComparedMetric::Failed.value(trial, "all").unwrap();
        assert_eq!(share, trial.total.failed as f64 / 20_000.0);
    }
}
