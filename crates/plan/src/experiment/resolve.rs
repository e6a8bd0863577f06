//! `{{folder}}`, `{{env.NAME}}` and `{{factor.NAME}}` in any value: replaced in the tree before it is read.

use std::path::{Path, PathBuf};

use super::factor::Combination;
use super::request::Inputs;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::Span;
use crate::document::{Entry, Node, Table, Value};
use crate::secret::Secrets;
use crate::template::{Piece, pieces};

/// The value of a placeholder; `None` leaves the placeholder unchanged.
type Lookup<'a> = dyn FnMut(&str, Span) -> Option<Result<Value, Diagnostic>> + 'a;

/// Fills in `{{folder}}` with the folder of the file, as started processes see it. `placed` gets each resulting text
/// with the original from the file. The plan shows the original, so it is the same plan from any folder.
pub(super) fn folder(
    root: &Table,
    inputs: &dyn Inputs,
    placed: &mut Vec<(String, String)>,
    problems: &mut Vec<Diagnostic>,
) -> Table {
    let found: PathBuf = inputs.locate(Path::new("")).components().collect();
    let folder = match found.to_string_lossy() {
        here if here.is_empty() => ".".to_owned(),
        other => other.into_owned(),
    };
    let mut lookup = |inner: &str, _: Span| {
        (inner == "folder").then(|| Ok::<_, Diagnostic>(Value::String(folder.clone())))
    };
    Pass { lookup: &mut lookup, problems, replaced: placed }.table(root)
}

/// Fills in variables of the environment, and notes each as a secret.
pub(super) fn environment(
    root: &Table,
    inputs: &dyn Inputs,
    secrets: &mut Secrets,
    problems: &mut Vec<Diagnostic>,
) -> Table {
    let mut found = Secrets::default();
    let mut lookup = |inner: &str, span: Span| {
        let name = inner.strip_prefix("env.")?.trim();
        let Some(value) = inputs.env(name) else {
            let message = format!("environment variable `{name}` is not set");
            let problem = Diagnostic::new(span, message, "taken from the environment");
            return Some(Err(problem.with_hint(format!("set it: {name}=… proofload …"))));
        };
        if value.contains("{{") {
            let message = format!("environment variable `{name}` holds `{{{{`");
            return Some(Err(Diagnostic::new(span, message, "would be taken for a placeholder")));
        }
        found.add_value(name, &value);
        Some(Ok(Value::String(value)))
    };
    let mut texts = Vec::new();
    let mut pass = Pass { lookup: &mut lookup, problems, replaced: &mut texts };
    let resolved = pass.table(root);
    for (text, written) in texts {
        found.add_text(&text, &written);
    }
    *secrets = found;
    with_numbers(root, resolved)
}

/// Tables with settings of the plan itself, in which [`NUMBERS`] are numbers.
const SETTINGS: [&str; 4] = ["load", "design", "operation", "journey"];
const NUMBERS: [&str; 7] =
    ["connections", "users", "operations", "workers", "blocks", "aa", "weight"];

/// Environment variables are text. If a setting is a number, a variable that is its whole value becomes a number.
fn with_numbers(written: &Table, mut resolved: Table) -> Table {
    for (before, after) in written.entries.iter().zip(&mut resolved.entries) {
        if SETTINGS.contains(&after.key.as_str()) {
            number_in(&before.node, &mut after.node);
        }
    }
    resolved
}

fn number_in(before: &Node, after: &mut Node) {
    match (&before.value, &mut after.value) {
        (Value::Array(before), Value::Array(after)) => {
            before.iter().zip(after).for_each(|(before, after)| number_in(before, after));
        }
        (Value::Table(before), Value::Table(after)) => {
            for (before, after) in before.entries.iter().zip(&mut after.entries) {
                let replaced = before.node != after.node;
                let number = after.node.as_str().and_then(|text| text.parse().ok());
                if let (true, true, Some(number)) =
                    (replaced, NUMBERS.contains(&after.key.as_str()), number)
                {
                    after.node.value = Value::Integer(number);
                }
            }
        }
        _ => {}
    }
}

/// Fills in the levels of one arm.
pub(super) fn factors(
    root: &Table,
    combination: &Combination<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Table {
    let mut lookup = |inner: &str, span: Span| {
        let name = inner.strip_prefix("factor.")?.trim();
        Some(match combination.level(name) {
            Some(level) => Ok(level.node.value.clone()),
            None => Err(Diagnostic::unknown("factor", name, span, combination.names())),
        })
    };
    Pass { lookup: &mut lookup, problems, replaced: &mut Vec::new() }.table(root)
}

/// One walk over a tree.
struct Pass<'a, 'l> {
    lookup: &'a mut Lookup<'l>,
    problems: &'a mut Vec<Diagnostic>,
    /// Each new text with what it was before.
    replaced: &'a mut Vec<(String, String)>,
}

impl Pass<'_, '_> {
    fn table(&mut self, table: &Table) -> Table {
        let entries = table
            .entries
            .iter()
            .map(|entry| Entry {
                key: entry.key.clone(),
                key_span: entry.key_span,
                node: self.node(&entry.node),
            })
            .collect();
        Table { span: table.span, entries }
    }

    fn node(&mut self, node: &Node) -> Node {
        let value = match &node.value {
            Value::String(text) => self.text(text, node.span),
            Value::Array(nodes) => Value::Array(nodes.iter().map(|node| self.node(node)).collect()),
            Value::Table(table) => Value::Table(self.table(table)),
            scalar => scalar.clone(),
        };
        Node { span: node.span, value }
    }

    /// A placeholder that is the whole text becomes its value with its type; within other text it becomes text.
    fn text(&mut self, text: &str, span: Span) -> Value {
        let mut out = String::with_capacity(text.len());
        let mut changed = false;
        let pieces = pieces(text);
        for piece in &pieces {
            match *piece {
                Piece::Text("{{") => out.push_str("{{{{"),
                Piece::Text(literal) => out.push_str(literal),
                Piece::Unclosed { start } => out.push_str(&text[start..]),
                Piece::Placeholder { inner, start, end } => {
                    match (self.lookup)(inner, span.within(text, start, end)) {
                        Some(Ok(value)) if pieces.len() == 1 => {
                            self.note(&value, text);
                            return value;
                        }
                        Some(Ok(value)) => {
                            out.push_str(&plain(&value));
                            changed = true;
                        }
                        Some(Err(problem)) => self.problems.push(problem),
                        None => out.push_str(&text[start..end]),
                    }
                }
            }
        }
        let value = Value::String(out);
        if changed {
            self.note(&value, text);
        }
        value
    }

    fn note(&mut self, value: &Value, written: &str) {
        if let Value::String(text) = value {
            self.replaced.push((text.clone(), written.to_owned()));
        }
    }
}

/// A value in the middle of text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => Node { span: Span::default(), value: other.clone() }.to_json().to_string(),
    }
}
