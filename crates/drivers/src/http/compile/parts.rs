//! `server_timing`: which parts of the target tell their own times, and which lies inside which.
//!
//! `["front", "gateway", ["embed", "search"]]`: each name lies inside the one before it, and those of a list, which
//! comes last, lie side by side.

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader, Table, Value};
use plan::operation::Part;

use crate::http::field::is_token;

const KEY: &str = "server_timing";
const EXPECTED: &str = "a list such as [\"front\", \"gateway\", [\"embed\", \"search\"]]";

/// The parts that this table names, as far as it can be read.
pub fn named(table: &Table) -> Vec<Part> {
    let Some(Value::Array(nodes)) = table.get(KEY).map(|entry| &entry.node.value) else {
        return Vec::new();
    };
    let mut parts: Vec<Part> = Vec::new();
    let mut within: Option<String> = None;
    for node in nodes {
        let beside = match &node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let part = |node: &Node| {
            let name = node.as_str()?.to_owned();
            Some(Part { name, within: within.clone(), place: 0, span: node.span })
        };
        parts.extend(beside.iter().filter_map(part));
        within = node.as_str().map(str::to_owned);
    }
    parts
}

/// Everything that is wrong with the key.
pub fn check(reader: &mut Reader<'_>) {
    let Some(node) = reader.node(KEY) else { return };
    let Value::Array(nodes) = &node.value else {
        return reader.problem(node.unlike(EXPECTED));
    };
    let mut seen: Vec<&str> = Vec::new();
    for (place, node) in (1..).zip(nodes) {
        match &node.value {
            Value::Array(beside) if place == nodes.len() && !beside.is_empty() => {
                beside.iter().for_each(|node| name(reader, node, &mut seen));
            }
            Value::Array(beside) if !beside.is_empty() => {
                let message = "names after a list of parts that lie side by side";
                let problem = Diagnostic::new(node.span, message, "which of these holds the rest?");
                reader.problem(problem.with_hint("a list of names is the last entry"));
            }
            _ => name(reader, node, &mut seen),
        }
    }
    if nodes.is_empty() {
        reader.problem(node.unlike(EXPECTED));
    }
}

fn name<'a>(reader: &mut Reader<'_>, node: &'a Node, seen: &mut Vec<&'a str>) {
    let Some(name) = node.as_str() else {
        return reader.problem(node.unlike("the name of a metric"));
    };
    if name.is_empty() || !name.bytes().all(is_token) {
        let message = format!("name {name:?} of a metric is not a token");
        reader.problem(Diagnostic::new(node.span, message, "expected a name such as gateway"));
    } else if seen.contains(&name) {
        let message = format!("`{name}` is named twice");
        reader.problem(Diagnostic::new(node.span, message, "each part may appear once"));
    }
    seen.push(name);
}
