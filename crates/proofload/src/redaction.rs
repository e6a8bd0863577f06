//! Values of the environment in what targets, systems and observers say in their own words: these
//! may have been told secrets, and quote them.
//!
//! Not here: the plan, which never shows them.

use engine::conduct::Output;
use plan::secret::Secrets;
use record::event::EventKind;
use serde_json::Value;

/// Keys of the summary whose values are words of others, or of the user. Everywhere else stand
/// words of ours, which other programs read: a secret may well be called `pass`.
const WORDS: [&str; 13] = [
    "advice",
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
        | EventKind::ProcessDied { status: said, .. } => *said = secrets.redact(said),
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
                let is_free = WORDS.contains(&key.as_str());
                let value =
                    if is_free { secrets.redact_json(value) } else { of_summary(value, secrets) };
                (key, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| of_summary(item, secrets)).collect(),
        other => other,
    }
}
