//! Values of the environment in what targets, systems and observers say in their own words: these
//! may have been told secrets, and quote them.
//!
//! Not here: the plan, which never shows them.

use engine::conduct::Output;
use plan::secret::Secrets;
use record::EarlyEnd;
use record::event::EventKind;
use serde_json::Value;

use crate::message::Problem;

/// Keys of the summary whose values are words of others, or of the user. Everywhere else stand
/// words of ours, which other programs read: a secret may well be called `pass`.
const WORDS: [&str; 14] = [
    "advice",
    "arm",
    "claim",
    "detail",
    "effective",
    "evidence",
    "factors",
    "notes",
    "question",
    "reasons",
    "stratum",
    "text",
    "title",
    "version",
];

/// The event as it may be shown and stored.
pub fn of_output(output: Output, secrets: &Secrets) -> Output {
    let Output::Event(mut event) = output else { return output };
    match &mut event.kind {
        EventKind::FailureSeen { detail: said, .. }
        | EventKind::ProcessDied { status: said, .. }
        | EventKind::TrialStarted { arm: said, .. } => *said = secrets.redact(said),
        EventKind::EndedEarly(EarlyEnd { why, criteria, .. }) => {
            criteria.iter_mut().chain([why]).for_each(|said| *said = secrets.redact(said));
        }
        _ => {}
    }
    Output::Event(event)
}

/// The summary as it may be stored.
pub fn of_summary(summary: Value, secrets: &Secrets) -> Value {
    match summary {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let value = match key.as_str() {
                    "arms" => of_arms(value, secrets),
                    key if WORDS.contains(&key) => secrets.redact_json(value),
                    _ => of_summary(value, secrets),
                };
                (key, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| of_summary(item, secrets)).collect(),
        other => other,
    }
}

/// Arms are named after their levels.
fn of_arms(mut arms: Value, secrets: &Secrets) -> Value {
    for arm in arms.as_array_mut().into_iter().flatten() {
        if let Some(name) = arm.get_mut("name") {
            *name = secrets.redact_json(name.take());
        }
    }
    of_summary(arms, secrets)
}

/// What ends the command: a process may have been told secrets, and quote them.
pub fn of_problem(problem: Problem, secrets: &Secrets) -> Problem {
    let redact = |text: &String| secrets.redact(text);
    let (place, hint) = (problem.place.as_ref().map(redact), problem.hint.as_ref().map(redact));
    Problem { what: secrets.redact(&problem.what), place, hint, ..problem }
}
