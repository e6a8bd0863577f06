//! Checks settings of systems by asking their programs in advance.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::request::{BadSetting, KnownNames, SettingError};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Table, Value};
use crate::process::System;

/// Replaces an address that is known only when the run starts.
const ADDRESS: &str = "127.0.0.1:1";

/// Returns the problems that the systems of an arm find in their settings, and the settings without effect in this
/// arm, with the message to show if they have none in any other arm either. Settings without effect are removed from
/// the system. `names`: all started processes.
pub(super) fn judged(
    root: &Table,
    known: &dyn KnownNames,
    names: &[String],
    system: Option<&mut System>,
) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let own = tables(root, "system").flat_map(|table| of_system(table, known, names));
    let (idle, wrong): (Vec<_>, Vec<_>) = own.partition(|(bad, _)| bad.kind == SettingError::Idle);
    if let Some(system) = system {
        system.set.retain(|key, _| !idle.iter().any(|(bad, _)| bad.key == *key));
    }
    let others = tables(root, "observer").flat_map(|table| of_system(table, known, names));
    let wrong = wrong.into_iter().chain(others).map(|(_, problem)| problem).collect();
    (wrong, idle.into_iter().map(|(_, problem)| problem).collect())
}

fn tables<'a>(root: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> + use<'a> {
    let nodes = root.get(key).map(|entry| match &entry.node.value {
        Value::Array(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(&entry.node),
    });
    nodes.unwrap_or_default().iter().filter_map(|node| match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    })
}

fn of_system(
    table: &Table,
    known: &dyn KnownNames,
    names: &[String],
) -> Vec<(BadSetting, Diagnostic)> {
    let Some(serve) = table.get("serve") else { return Vec::new() };
    let Some(system) = serve.node.as_str() else { return Vec::new() };
    let none = Table::default();
    let (set, span) = match table.get("set").map(|entry| &entry.node) {
        None => (&none, serve.node.span),
        Some(node) => match &node.value {
            Value::Table(set) => (set, node.span),
            // Another check reports this.
            _ => return Vec::new(),
        },
    };
    let mut filled = BTreeSet::new();
    let given: BTreeMap<String, String> = set
        .entries
        .iter()
        .map(|entry| {
            let text = text(&entry.node.to_json());
            let plausible = stand_in(&text, names);
            if plausible != text {
                filled.insert(entry.key.as_str());
            }
            (entry.key.clone(), plausible)
        })
        .collect();
    let bad = known.settings(system, &given).into_iter();
    // The value of a placeholder is unknown, so the value of that setting cannot be checked.
    let bad =
        bad.filter(|bad| bad.kind != SettingError::Value || !filled.contains(bad.key.as_str()));
    let with_told = |bad: BadSetting| {
        let problem = told(&bad, system, set, span);
        (bad, problem)
    };
    bad.map(with_told).collect()
}

/// A setting in the form that a system gets.
pub(super) fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn told(bad: &BadSetting, system: &str, set: &Table, whole: Span) -> Diagnostic {
    let BadSetting { key, what, kind } = bad;
    let Some(entry) = set.get(key) else {
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        let message = format!("the settings of `{system}`: {key}{what}");
        return Diagnostic::new(whole, message, "the system would not start");
    };
    match kind {
        SettingError::Unknown(known) => {
            let kind = format!("setting of `{system}`");
            Diagnostic::unknown(&kind, key, entry.key_span, known.iter().map(String::as_str))
        }
        SettingError::Value => {
            let message = format!("`{key}` of `{system}`: {what}");
            Diagnostic::new(entry.node.span, message, "the system would not start")
        }
        SettingError::Idle => {
            let message = format!("`{key}` of `{system}` changes nothing in any arm");
            Diagnostic::new(entry.key_span, message, what)
        }
    }
}

/// The text with plausible values for placeholders of the launcher.
fn stand_in(text: &str, names: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let close = rest.find('}');
        let value = close.and_then(|close| value(&rest[1..close], names));
        let taken = match (value, close) {
            (Some(value), Some(close)) => {
                filled.push_str(value);
                close + 1
            }
            _ => {
                filled.push('{');
                1
            }
        };
        rest = &rest[taken..];
    }
    filled.push_str(rest);
    filled
}

fn value(name: &str, names: &[String]) -> Option<&'static str> {
    let owner = name.split_once('.').map_or(name, |(owner, _)| owner);
    match name {
        "port" => Some("1"),
        "scratch" => Some("/scratch"),
        _ => names.iter().any(|known| known == name || known == owner).then_some(ADDRESS),
    }
}

#[cfg(test)]
mod tests {
    use super::stand_in;

    #[test]
    fn what_the_launcher_fills_in_is_replaced_and_nothing_else() {
        let names = ["redis".to_owned(), "system".to_owned()];
        for (text, filled) in [
            ("redis://{redis}", "redis://127.0.0.1:1"),
            ("http://{system.gateway}/x", "http://127.0.0.1:1/x"),
            ("{scratch}/a:{port}", "/scratch/a:1"),
            ("node x {front_port} {upstream}", "node x {front_port} {upstream}"),
            ("{{redis", "{{redis"),
            ("{nats} {", "{nats} {"),
        ] {
            assert_eq!(stand_in(text, &names), filled);
        }
    }
}
