//! `--set path=value`: replaces or adds one value of the file before anything is read.

use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::document::{self, Entry, Node, Table, Value};

/// Keys in the longest path: far deeper than any experiment.
const DEEPEST: usize = 64;

/// Applies one override; its text becomes a source of its own.
///
/// A missing key is added. Whether it is allowed is checked when the table is read, with the same
/// suggestions as for the file.
///
/// Errors: no `=`; a missing item of a list
pub(super) fn apply(
    root: &mut Table,
    origin: &str,
    text: &str,
    sources: &mut Sources,
) -> Result<(), Diagnostic> {
    let base = sources.add(origin, text);
    let Some((path, value)) = text.split_once('=') else {
        let span = Span::new(base, base + text.len());
        let message = format!("expected path=value such as load.rate=200/s, got \"{text}\"");
        return Err(Diagnostic::new(span, message, "no `=`"));
    };
    let mut node = parse(value);
    shift(&mut node, base + path.len() + 1);
    let mut start = base;
    let mut segments = Vec::new();
    for segment in path.split('.') {
        let span = Span::new(start, start + segment.len());
        segments.push((segment.trim(), span));
        start += segment.len() + 1;
    }
    if segments.len() > DEEPEST {
        let span = Span::new(base, base + path.len());
        let message = format!("no setting has a path of {} keys", segments.len());
        return Err(Diagnostic::new(span, message, "expected a path such as load.rate"));
    }
    set_in_table(root, &segments, node)
}

/// The value as TOML if it is valid, as plain text otherwise.
fn parse(text: &str) -> Node {
    document::parse_value(text).unwrap_or_else(|_| Node {
        span: Span::new(0, text.len()),
        value: Value::String(text.to_owned()),
    })
}

fn shift(node: &mut Node, by: usize) {
    let moved = |span: Span| Span::new(span.start + by, span.end + by);
    node.span = moved(node.span);
    match &mut node.value {
        Value::Array(nodes) => nodes.iter_mut().for_each(|node| shift(node, by)),
        Value::Table(table) => {
            table.span = moved(table.span);
            for entry in &mut table.entries {
                entry.key_span = moved(entry.key_span);
                shift(&mut entry.node, by);
            }
        }
        _ => {}
    }
}

fn set_in_table(table: &mut Table, path: &[(&str, Span)], value: Node) -> Result<(), Diagnostic> {
    let [(key, key_span), rest @ ..] = path else { return Ok(()) };
    let at = table.entries.iter().position(|entry| entry.key == *key);
    if rest.is_empty() {
        let entry = Entry { key: (*key).to_owned(), key_span: *key_span, node: value };
        match at {
            Some(at) => table.entries[at].node = entry.node,
            None => table.entries.push(entry),
        }
        return Ok(());
    }
    let at = at.unwrap_or_else(|| {
        let empty = Table { span: *key_span, entries: Vec::new() };
        let node = Node { span: *key_span, value: Value::Table(empty) };
        table.entries.push(Entry { key: (*key).to_owned(), key_span: *key_span, node });
        table.entries.len() - 1
    });
    set_in_node(&mut table.entries[at].node, key, rest, value)
}

fn set_in_node(
    node: &mut Node,
    key: &str,
    path: &[(&str, Span)],
    value: Node,
) -> Result<(), Diagnostic> {
    match &mut node.value {
        Value::Table(table) => set_in_table(table, path, value),
        Value::Array(items) => set_in_list(items, key, path, value),
        _ => {
            let (segment, span) = path[0];
            let message = format!("`{key}` holds no `{segment}`: it is {}", node.shown());
            Err(Diagnostic::new(span, message, "not a table"))
        }
    }
}

/// An item by its index, from 0, or by its name.
fn set_in_list(
    items: &mut [Node],
    key: &str,
    path: &[(&str, Span)],
    value: Node,
) -> Result<(), Diagnostic> {
    let (segment, span) = path[0];
    let names: Vec<Option<String>> = items.iter().map(name_of).collect();
    let by_place = segment.parse().ok().filter(|place| *place < items.len());
    let by_name = || names.iter().position(|name| name.as_deref() == Some(segment));
    let Some(place) = by_place.or_else(by_name) else {
        let known = names.iter().flatten().map(String::as_str);
        return Err(Diagnostic::unknown(key, segment, span, known));
    };
    match (&mut items[place], &path[1..]) {
        (item, []) => {
            *item = value;
            Ok(())
        }
        (item, rest) => set_in_node(item, segment, rest, value),
    }
}

fn name_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Table(table) => table.get("name")?.node.as_str().map(str::to_owned),
        _ => None,
    }
}
