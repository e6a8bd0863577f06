//! The result of one trial of the search.

use std::collections::BTreeSet;

use plan::journey::TOGETHER;
use record::Role;
use record::summary::{CapacityStep, Finding, Judgement, StepResult, Summary, TrialSummary};
use stats::capacity::search::Purpose;

use super::search_trial::{SearchTrial, only_trial};
use crate::findings::{INTERRUPTED, PROCESS_DIED, ROLE};

/// The result that the search gets from the summary of a single trial; [`StepResult::Stopped`] where the user ended
/// it.
///
/// A system that ends under the load could not sustain the rate: that is a failure of the target, though the trial is
/// not valid as a measurement. If another process ends, or the record does not say which one ended, the trial is
/// invalid.
pub fn result(summary: &Summary) -> StepResult {
    if finding(summary, INTERRUPTED).is_some() || only_trial(summary).is_none() {
        return StepResult::Stopped;
    }
    if system_died(summary).is_some() {
        return StepResult::Fail;
    }
    match summary.verdict.result {
        Judgement::Pass | Judgement::Measured => StepResult::Pass,
        Judgement::Fail => StepResult::Fail,
        Judgement::Inconclusive => StepResult::Undecided,
        Judgement::Invalid => StepResult::Invalid,
    }
}

/// How the system under test ended before the trial did, if it did.
pub(super) fn system_died(summary: &Summary) -> Option<&str> {
    let evidence = &finding(summary, PROCESS_DIED)?.evidence;
    let was_system = evidence.get(ROLE).is_some_and(|role| role == Role::System.name());
    evidence.get("cause").filter(|_| was_system)?.as_str()
}

/// Whether anything ended before the trial did.
pub(super) fn fell(summary: &Summary) -> bool {
    finding(summary, PROCESS_DIED).is_some()
}

fn finding<'s>(summary: &'s Summary, code: &str) -> Option<&'s Finding> {
    summary.findings.iter().find(|finding| finding.code == code)
}

/// What was completed of what the load counts, each second: journeys, where there are any, and operations that are
/// part of none.
pub(super) fn achieved(trial: &TrialSummary) -> f64 {
    if trial.journeys.is_empty() {
        return trial.rates.goodput;
    }
    let steps = trial.journeys.iter().flat_map(|journey| &journey.steps);
    let steps: BTreeSet<&str> = steps.flat_map(|step| step.name.split(TOGETHER)).collect();
    let alone = trial.operations.iter().filter(|one| !steps.contains(one.name.as_str()));
    let journeys = trial.journeys.iter().map(|journey| journey.whole.succeeded);
    let succeeded: u64 = journeys.chain(alone.map(|one| one.succeeded)).sum();
    succeeded as f64 * 1e9 / trial.phases.measure_ns.max(1) as f64
}

/// The step for the summary; `None` for a trial that ended before it began.
pub(super) fn of(tried: &SearchTrial) -> Option<CapacityStep> {
    let trial = only_trial(&tried.summary)?;
    let quantile = |q: f64| {
        let entry = trial.total.outcome_time.quantiles.iter().find(|entry| entry.q == q);
        entry.and_then(|entry| entry.observed_ns)
    };
    let accounting = &trial.accounting;
    let succeeded = accounting.succeeded as f64 / accounting.planned.max(1) as f64;
    Some(CapacityStep {
        rate: tried.step.rate,
        duration_ns: (tried.step.seconds * 1e9).round() as u64,
        result: tried.result,
        achieved: achieved(trial),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        failed_ratio: (1.0 - succeeded).clamp(0.0, 1.0),
        trial: trial.index,
        purpose: purpose(tried.step.purpose).to_owned(),
    })
}

/// The name of a purpose in the summary.
fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Expand => "expand",
        Purpose::Narrow => "narrow",
        Purpose::Retest => "retest",
        Purpose::Confirm => "confirm",
        Purpose::Check => "check",
    }
}
