//! Where two plans differ, for errors that refuse one of them.
//!
//! Not here: whether they are the same, which is a matter of their hashes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use crate::printable::printable;

/// Differences that an error lists.
const LISTED: usize = 3;
/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// The first fields in which a plan differs from another, with both values: "`seed` is 8, not 7". Empty if there are
/// none. Both plans are JSON, as in `plan.json`, which has no secrets.
pub fn of(plan: &Value, from: &Value) -> String {
    let mut all = Vec::new();
    walk("", Some(plan), Some(from), &mut all);
    let mut text = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > LISTED {
        let _ = write!(text, "; and {} more", all.len() - LISTED);
    }
    text
}

/// The same after a colon, to end a sentence.
pub fn after_colon(plan: &Value, from: &Value) -> String {
    match of(plan, from) {
        differences if differences.is_empty() => differences,
        differences => format!(": {differences}"),
    }
}

fn walk(path: &str, one: Option<&Value>, other: Option<&Value>, all: &mut Vec<String>) {
    if one == other {
        return;
    }
    match (one, other) {
        (Some(Value::Object(ours)), Some(Value::Object(theirs))) if time(one).is_none() => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys.into_iter().filter(|key| decides(path, key)) {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                walk(&path, ours.get(key), theirs.get(key), all);
            }
        }
        (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
            for place in 0..ours.len().max(theirs.len()) {
                walk(&format!("{path}[{place}]"), ours.get(place), theirs.get(place), all);
            }
        }
        _ => all.push(format!("`{}` is {}, not {}", printable(path), shown(one), shown(other))),
    }
}

/// Whether the hash of a plan counts this field.
fn decides(path: &str, key: &str) -> bool {
    !(key == "workers" && path.starts_with("arms[") && path.ends_with("].load"))
}

/// A length of time, if the value is one.
fn time(value: Option<&Value>) -> Option<Duration> {
    let fields = value?.as_object().filter(|fields| fields.len() == 2)?;
    let (secs, nanos) = (fields.get("secs")?.as_u64()?, fields.get("nanos")?.as_u64()?);
    u32::try_from(nanos)
        .ok()
        .filter(|nanos| *nanos < 1_000_000_000)
        .map(|nanos| Duration::new(secs, nanos))
}

fn shown(value: Option<&Value>) -> String {
    let text = match (value, time(value)) {
        (None, _) => return "unset".to_owned(),
        // Exact: rounded, two lengths could look the same.
        (_, Some(length)) => return format!("{length:?}"),
        (Some(value), None) => value.to_string(),
    };
    let text = printable(&text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_with_both_values() {
        let plan = json!({ "seed": 7, "arms": [
            { "name": "a", "load": { "timeout": { "secs": 5, "nanos": 0 }, "workers": 1 } },
        ]});
        let mut other = plan.clone();
        other["arms"][0]["load"]["workers"] = json!(2);
        assert_eq!(of(&plan, &other), "", "workers do not decide");
        other["arms"][0]["load"]["timeout"]["secs"] = json!(2);
        other["seed"] = json!(8);
        assert_eq!(
            after_colon(&plan, &other),
            ": `arms[0].load.timeout` is 5s, not 2s; `seed` is 7, not 8"
        );
    }

    #[test]
    fn what_only_one_has_is_unset_in_the_other() {
        let (plan, other) = (json!({ "rows": ["a"], "question": null }), json!({ "rows": [] }));
        assert_eq!(
            of(&plan, &other),
            "`question` is null, not unset; `rows[0]` is \"a\", not unset"
        );
    }

    #[test]
    fn long_lists_and_texts_are_cut() {
        let plan = json!({ "a": 1, "b": 1, "c": 1, "d": 1, "e": 1 });
        assert_eq!(of(&plan, &json!({})).matches("not unset").count(), 3);
        assert!(of(&plan, &json!({})).ends_with("; and 2 more"));
        let long = json!({ "title": "é\u{1b}[2J".repeat(100) });
        let text = of(&long, &json!({}));
        assert!(text.len() < 200 && !text.contains('\u{1b}'), "{text}");
    }
}
