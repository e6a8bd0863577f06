//! Secrets out of everything that leaves the program: what it writes, shows and complains about.
//!
//! Only free text is changed, never a word that has a meaning of its own: a variable whose value
//! is `open` must not turn the model of a load into something unreadable.

use plan::secret::Secrets;
use record::event::{Event, EventKind};
use record::summary::{Finding, Summary, Trial};
use serde_json::Value;

use crate::message::Problem;

/// The summary without secrets.
pub fn summary(mut summary: Summary, secrets: &Secrets) -> Summary {
    text(&mut summary.run.title, secrets);
    summary.run.question.iter_mut().for_each(|question| text(question, secrets));
    summary.verdict.reasons.iter_mut().for_each(|reason| text(reason, secrets));
    for arm in &mut summary.arms {
        text(&mut arm.name, secrets);
        arm.factors.values_mut().for_each(|level| tree(level, secrets));
        arm.trials.iter_mut().for_each(|one| trial(one, secrets));
    }
    for criterion in &mut summary.criteria {
        text(&mut criterion.text, secrets);
        text(&mut criterion.arm, secrets);
    }
    summary.comparisons.iter_mut().for_each(|comparison| tree(comparison, secrets));
    summary.findings.iter_mut().for_each(|one| finding(one, secrets));
    summary
}

fn trial(trial: &mut Trial, secrets: &Secrets) {
    trial.reasons.iter_mut().for_each(|reason| text(reason, secrets));
    trial.generator.notes.iter_mut().for_each(|note| text(note, secrets));
    for system in &mut trial.systems {
        system.effective.values_mut().for_each(|value| tree(value, secrets));
    }
    for observer in &mut trial.observers {
        observer.expect.iter_mut().for_each(|expected| text(&mut expected.text, secrets));
        observer.detail.values_mut().for_each(|value| tree(value, secrets));
    }
}

fn finding(finding: &mut Finding, secrets: &Secrets) {
    finding.arm.iter_mut().for_each(|arm| text(arm, secrets));
    text(&mut finding.claim, secrets);
    text(&mut finding.advice, secrets);
    finding.evidence.values_mut().for_each(|value| tree(value, secrets));
}

/// The event without secrets: what a target answered may quote them.
pub fn event(mut event: Event, secrets: &Secrets) -> Event {
    match &mut event.kind {
        EventKind::TrialStarted { arm, .. } => text(arm, secrets),
        EventKind::FailureSeen { detail, .. } => text(detail, secrets),
        _ => {}
    }
    event
}

/// The problem without secrets: what a process said may quote them.
pub fn problem(mut problem: Problem, secrets: &Secrets) -> Problem {
    text(&mut problem.what, secrets);
    problem.place.iter_mut().for_each(|place| text(place, secrets));
    problem.hint.iter_mut().for_each(|hint| text(hint, secrets));
    problem
}

fn text(text: &mut String, secrets: &Secrets) {
    *text = secrets.redact(text);
}

fn tree(value: &mut Value, secrets: &Secrets) {
    *value = secrets.redact_json(value.take());
}
