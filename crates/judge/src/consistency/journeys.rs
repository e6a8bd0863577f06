//! Journeys and their steps: A19.

use record::StepTotals;
use record::summary::{Journey, TrialSummary};

use super::counts::within_operation;

/// A19: every planned journey is in exactly one bucket, and none appears or vanishes between two steps.
pub fn identities(trial: &TrialSummary) -> Option<String> {
    trial.journeys.iter().find_map(|journey| {
        let broken = within_operation(&journey.whole).or_else(|| {
            let steps = &journey.steps;
            steps
                .iter()
                .find_map(within_step)
                .or_else(|| between_steps(journey))
                .map(|claim| format!("{}: {claim}", journey.whole.name))
        });
        broken.or_else(|| begun(journey))
    })
}

fn begun(journey: &Journey) -> Option<String> {
    let whole = &journey.whole;
    let (begun, planned) = (whole.started(), whole.planned);
    (begun > planned)
        .then(|| format!("{}: {begun} journeys were begun, {planned} planned", whole.name))
}

fn within_step(step: &StepTotals) -> Option<String> {
    let StepTotals { name, reached, succeeded, failed, abandoned, ended, .. } = step;
    let parts = succeeded + failed + abandoned;
    if *reached != parts {
        return Some(format!(
            "step {name}: {reached} reached it, {parts} succeeded, failed or were abandoned"
        ));
    }
    (ended > failed).then(|| format!("step {name}: {ended} ended there, {failed} failed"))
}

/// Journeys that came to a step are those that came to the step before it, without those that ended there. Others may
/// be abandoned between the two: they waited for the next step.
fn between_steps(journey: &Journey) -> Option<String> {
    let whole = &journey.whole;
    let (mut left, mut abandoned) = (whole.started(), 0);
    for step in &journey.steps {
        let came = step.reached + step.skipped;
        if came > left {
            return Some(format!("step {}: {came} came to it, {left} were left", step.name));
        }
        abandoned += left - came + step.abandoned;
        let gone = step.ended + step.abandoned;
        if gone > came {
            return Some(format!("step {}: {came} came to it, {gone} ended there", step.name));
        }
        left = came - gone;
    }
    if !journey.steps.is_empty() && abandoned != whole.abandoned {
        return Some(format!(
            "{abandoned} journeys did not come from one step to the next, {} were abandoned",
            whole.abandoned
        ));
    }
    let ended: u64 = journey.steps.iter().map(|step| step.ended).sum();
    (ended > whole.failed).then(|| format!("{ended} ended at a step, {} failed", whole.failed))
}
