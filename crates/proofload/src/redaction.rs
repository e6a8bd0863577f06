//! Redacts secrets from the environment in texts of targets, systems and observers, which may
//! receive secrets and quote them.
//!
//! Not here: the plan, which never contains them.

use engine::trial::TrialOutput;
use plan::secret::Secrets;
use record::EarlyEnd;
use record::event::EventKind;
use serde_json::Value;

use crate::problem::Problem;

/// Keys of the summary whose values are texts of users or other programs. All other values are our
/// own words, which programs read: redacting a secret such as `pass` would damage them.
const WORDS: [&str; 15] = [
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
    "seen",
    "stratum",
    "text",
    "title",
    "version",
];

/// The key of an observer's histogram in its details.
const DELIVERY_TIME: &str = "delivery_time";

/// The event with secrets redacted, to be shown and stored.
pub fn of_output(output: TrialOutput, secrets: &Secrets) -> TrialOutput {
    let TrialOutput::Event(mut event) = output else { return output };
    match &mut event.kind {
        EventKind::FailureSeen { detail: said, .. }
        | EventKind::TrialStarted { arm: said, .. }
        | EventKind::NotExecuted { reason: said } => *said = secrets.redact(said),
        EventKind::ProcessDied { status, last_words, .. } => {
            *status = secrets.redact(status);
            last_words.iter_mut().for_each(|line| *line = secrets.redact(line));
        }
        EventKind::Fault { failed: Some(said), .. } => *said = secrets.redact(said),
        EventKind::EndedEarly(early) => of_early_end(early, secrets),
        _ => {}
    }
    TrialOutput::Event(event)
}

/// The facts of a trial with secrets redacted, to be stored.
pub fn of_facts(mut facts: record::TrialFacts, secrets: &Secrets) -> record::TrialFacts {
    facts.arm = secrets.redact(&facts.arm);
    facts.first_failures.iter_mut().for_each(|one| one.seen = secrets.redact(&one.seen));
    facts.early_end.iter_mut().for_each(|early| of_early_end(early, secrets));
    facts.died = facts.died.map(|died| secrets.redact(&died));
    facts.last_words.iter_mut().for_each(|line| *line = secrets.redact(line));
    facts.generator.notes = facts.generator.notes.iter().map(|one| secrets.redact(one)).collect();
    for system in &mut facts.systems {
        system.version = system.version.take().map(|version| secrets.redact(&version));
        let effective = std::mem::take(&mut system.effective).into_iter();
        system.effective = effective.map(|(key, one)| (key, secrets.redact_json(one))).collect();
    }
    for observer in &mut facts.observers {
        let detail = std::mem::take(&mut observer.detail).into_iter();
        // Redacting would damage a histogram in base64.
        let redact = |(key, one)| match key {
            key if key == DELIVERY_TIME => (key, one),
            key => (key, secrets.redact_json(one)),
        };
        observer.detail = detail.map(redact).collect();
        if let Some(expect) = &mut observer.expect {
            expect.text = secrets.redact(&expect.text);
        }
    }
    facts
}

/// Redacts why a trial was ended early.
pub fn of_early_end(early: &mut EarlyEnd, secrets: &Secrets) {
    early.why = secrets.redact(&early.why);
    early.advice.iter_mut().for_each(|advice| *advice = secrets.redact(advice));
    early.criteria.iter_mut().for_each(|one| *one = secrets.redact(one));
}

/// The summary with secrets redacted, to be stored.
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

/// Redacts the names of arms, too: they contain levels.
fn of_arms(mut arms: Value, secrets: &Secrets) -> Value {
    for arm in arms.as_array_mut().into_iter().flatten() {
        if let Some(name) = arm.get_mut("name") {
            *name = secrets.redact_json(name.take());
        }
    }
    of_summary(arms, secrets)
}

/// The problem with secrets redacted: a process may have received secrets and quote them.
pub fn of_problem(problem: Problem, secrets: &Secrets) -> Problem {
    let redact = |text: &String| secrets.redact(text);
    let (place, hint) = (problem.place.as_ref().map(redact), problem.hint.as_ref().map(redact));
    Problem { what: secrets.redact(&problem.what), place, hint, ..problem }
}
