//! Factors, their levels, and the arms that result from them.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Node, Reader, Table, Value};

/// More arms than this are probably a mistake.
const MOST_ARMS: usize = 1000;

/// A factor.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    pub(super) name: String,
    pub(super) levels: Vec<Level>,
}

/// A level of a factor.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// Its form in names of arms.
    pub(super) name: String,
    /// The value that replaces the placeholder.
    pub(super) node: Node,
    /// Whether the file names the level because its value is too long to read.
    named: bool,
    /// Load settings, if the level is a table.
    pub(super) settings: Option<Table>,
}

impl Level {
    /// Its form in plan and reports: its name if the file gives one.
    pub(super) fn told(&self) -> Json {
        if self.named { self.name.as_str().into() } else { self.node.to_json() }
    }

    /// Whether the file refers to this level, by value or by name.
    pub(super) fn is(&self, meant: &Value) -> bool {
        let by_name = || matches!(meant, Value::String(text) if *text == self.name);
        self.node.value == *meant || (self.named && by_name())
    }
}

/// One level of each factor.
#[derive(Debug, Clone)]
pub(super) struct Combination<'a> {
    parts: Vec<(&'a str, &'a Level)>,
}

impl Combination<'_> {
    pub(super) fn level(&self, factor: &str) -> Option<&Level> {
        self.parts.iter().find(|(name, _)| *name == factor).map(|(_, level)| *level)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| *name)
    }

    pub(super) fn arm_name(&self) -> String {
        if self.parts.is_empty() {
            return "all".to_owned();
        }
        let parts: Vec<String> =
            self.parts.iter().map(|(name, level)| format!("{name}={}", level.name)).collect();
        parts.join(",")
    }

    pub(super) fn levels(&self) -> BTreeMap<String, Json> {
        self.parts.iter().map(|(name, level)| ((*name).to_owned(), level.told())).collect()
    }

    /// Values of the levels that have names.
    pub(super) fn values(&self) -> BTreeMap<String, Json> {
        let named = self.parts.iter().filter(|(_, level)| level.named);
        named.map(|(name, level)| ((*name).to_owned(), level.node.to_json())).collect()
    }

    /// Load settings of the levels, which override those of `[load]`.
    pub(super) fn settings(&self) -> impl Iterator<Item = &Table> {
        self.parts.iter().filter_map(|(_, level)| level.settings.as_ref())
    }
}

/// Reads `[factors]`.
pub(super) fn read(table: Option<&Table>, problems: &mut Vec<Diagnostic>) -> Vec<Factor> {
    let entries = table.map(|table| table.entries.as_slice()).unwrap_or_default();
    entries.iter().map(|entry| factor(entry, problems)).collect()
}

fn factor(entry: &Entry, problems: &mut Vec<Diagnostic>) -> Factor {
    let levels: Vec<Level> = match &entry.node.value {
        Value::Array(nodes) => nodes.iter().filter_map(|node| level(node, problems)).collect(),
        Value::Table(table) => table.entries.iter().filter_map(|e| named(e, problems)).collect(),
        _ => {
            problems.push(entry.node.unlike("a list of levels, or a table of load settings each"));
            return Factor { name: entry.key.clone(), levels: Vec::new() };
        }
    };
    if levels.is_empty() {
        let message = format!("factor `{}` has no level", entry.key);
        problems.push(Diagnostic::new(entry.node.span, message, "expected at least one level"));
    }
    let (mut names, mut values) = (HashSet::new(), HashSet::new());
    for level in &levels {
        let is_new_value = values.insert(format!("{:?}", level.node.value));
        if !names.insert(level.name.as_str()) || !is_new_value {
            let message = format!("level `{}` of `{}` appears twice", level.name, entry.key);
            problems.push(Diagnostic::new(level.node.span, message, "levels must differ"));
        }
    }
    Factor { name: entry.key.clone(), levels }
}

/// A level in a list: a scalar, or a table with its name and a value or load settings.
fn level(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Level> {
    match &node.value {
        Value::Array(_) => {
            problems
                .push(node.unlike("a scalar, or a table of a name and a value or load settings"));
            None
        }
        Value::Table(table) => {
            let mut settings = table.clone();
            let name = Reader::new(table).string("name");
            let Some((name, span)) = name else {
                let message = "a level that is a table needs a name";
                problems.push(Diagnostic::new(node.span, message, "add name = \"…\""));
                return None;
            };
            settings.entries.retain(|entry| entry.key != "name");
            table_level(name, span, settings, problems)
        }
        Value::String(text) => {
            Some(Level { name: text.clone(), node: node.clone(), named: false, settings: None })
        }
        _ => Some(Level { name: node.shown(), node: node.clone(), named: false, settings: None }),
    }
}

/// A level in a table of levels.
fn named(entry: &Entry, problems: &mut Vec<Diagnostic>) -> Option<Level> {
    match &entry.node.value {
        Value::Table(table) => table_level(&entry.key, entry.key_span, table.clone(), problems),
        _ => {
            problems.push(entry.node.unlike("a table of load settings, or of a `value`"));
            None
        }
    }
}

/// A level with a name and either a value or load settings.
fn table_level(
    name: &str,
    span: Span,
    settings: Table,
    problems: &mut Vec<Diagnostic>,
) -> Option<Level> {
    let name = name.to_owned();
    let Some(value) = settings.get("value") else {
        let node = Node { span, value: Value::String(name.clone()) };
        return Some(Level { name, node, named: false, settings: Some(settings) });
    };
    let node = value.node.clone();
    if let Value::Array(_) | Value::Table(_) = node.value {
        problems.push(node.unlike("a scalar"));
        return None;
    }
    if let Some(other) = settings.entries.iter().find(|entry| entry.key != "value") {
        let message = format!("level `{name}` has a value and `{}`", other.key);
        let label = "a level is a value or load settings";
        problems.push(Diagnostic::new(other.key_span, message, label));
        return None;
    }
    Some(Level { name, node, named: true, settings: None })
}

/// Every combination of levels, the last factor varying fastest; without factors, one.
pub(super) fn cross<'a>(
    factors: &'a [Factor],
    span: Span,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Combination<'a>> {
    let count = factors.iter().try_fold(1_usize, |n, f| n.checked_mul(f.levels.len()));
    if count.is_none_or(|count| count > MOST_ARMS) {
        let message = format!("the factors span more than {MOST_ARMS} arms");
        problems.push(Diagnostic::new(span, message, "every level meets every other"));
        return Vec::new();
    }
    let mut arms = vec![Combination { parts: Vec::new() }];
    for factor in factors {
        arms = arms
            .iter()
            .flat_map(|arm| {
                factor.levels.iter().map(|level| {
                    let mut parts = arm.parts.clone();
                    parts.push((factor.name.as_str(), level));
                    Combination { parts }
                })
            })
            .collect();
    }
    arms
}
