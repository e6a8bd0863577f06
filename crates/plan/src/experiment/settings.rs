//! Settings of bundled systems, held against what those would say at their start.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::request::{BadSetting, Known};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Table, Value};

/// What stands in for an address that is known when the run starts.
const ADDRESS: &str = "127.0.0.1:1";

/// What the bundled systems of an arm find wrong with their settings. `names`: of all that is started.
pub(super) fn wrong(root: &Table, known: &dyn Known, names: &[String]) -> Vec<Diagnostic> {
    let tables = ["system", "observer"].map(|key| root.get(key).map(|entry| &entry.node.value));
    let tables = tables.into_iter().flatten().flat_map(|value| match value {
        Value::Table(table) => vec![table],
        Value::Array(nodes) => nodes
            .iter()
            .filter_map(|node| match &node.value {
                Value::Table(table) => Some(table),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    });
    tables.flat_map(|table| of_system(table, known, names)).collect()
}

fn of_system(table: &Table, known: &dyn Known, names: &[String]) -> Vec<Diagnostic> {
    let Some(serve) = table.get("serve") else { return Vec::new() };
    let Some(system) = serve.node.as_str() else { return Vec::new() };
    let none = Table::default();
    let (set, span) = match table.get("set").map(|entry| &entry.node) {
        None => (&none, serve.node.span),
        Some(node) => match &node.value {
            Value::Table(set) => (set, node.span),
            // Told already.
            _ => return Vec::new(),
        },
    };
    let mut filled = BTreeSet::new();
    let given: BTreeMap<String, String> = set
        .entries
        .iter()
        .map(|entry| {
            let text = match entry.node.to_json() {
                Json::String(text) => text,
                other => other.to_string(),
            };
            let plausible = stand_in(&text, names);
            if plausible != text {
                filled.insert(entry.key.as_str());
            }
            (entry.key.clone(), plausible)
        })
        .collect();
    let bad = known.settings(system, &given).into_iter();
    // What a placeholder will stand for is not known, and so is nothing else of that setting.
    let bad = bad.filter(|bad| bad.known.is_some() || !filled.contains(bad.key.as_str()));
    bad.map(|bad| told(&bad, system, set, span)).collect()
}

fn told(bad: &BadSetting, system: &str, set: &Table, whole: Span) -> Diagnostic {
    let BadSetting { key, what, known } = bad;
    match (set.get(key), known) {
        (Some(entry), Some(known)) => {
            let kind = format!("setting of `{system}`");
            Diagnostic::unknown(&kind, key, entry.key_span, known.iter().copied())
        }
        (Some(entry), None) => {
            let message = format!("`{key}` of `{system}`: {what}");
            Diagnostic::new(entry.node.span, message, "the system would not start")
        }
        (None, _) => {
            let message = format!("the settings of `{system}`: {key}: {what}");
            Diagnostic::new(whole, message, "the system would not start")
        }
    }
}

/// The text with something plausible in the place of what the launcher fills in.
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
