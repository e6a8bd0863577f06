//! The experiment file as a tree with spans, and a reader that collects every problem.

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Span};
use crate::printable::shortened;

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its place. For text it covers the part between the quotes if the source contains the text
    /// literally (no escapes); then offsets in the text are offsets in the file.
    pub span: Span,
    /// The value.
    pub value: Value,
}

/// A value of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// Whole number.
    Integer(i64),
    /// Number.
    Float(f64),
    /// Truth value.
    Boolean(bool),
    /// List.
    Array(Vec<Node>),
    /// Table.
    Table(Table),
}

/// A table: entries in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Its place.
    pub span: Span,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// One entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Place of the key.
    pub key_span: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The same value as JSON, spans dropped.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::String(text) => Json::String(text.clone()),
            Value::Integer(number) => Json::from(*number),
            Value::Float(number) => Json::from(*number),
            Value::Boolean(truth) => Json::Bool(*truth),
            Value::Array(nodes) => Json::Array(nodes.iter().map(Self::to_json).collect()),
            Value::Table(table) => table.to_json(),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as written, for messages: texts in quotes and shortened, other values bare.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::Array(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::String(text) => Json::from(&*shortened(text)).to_string(),
            _ => self.to_json().to_string(),
        }
    }

    /// The problem that this value has the wrong type.
    pub fn unlike(&self, expected: &str) -> Diagnostic {
        Diagnostic::new(
            self.span,
            format!("expected {expected}, got {}", self.shown()),
            format!("expected {expected}"),
        )
    }
}

impl Table {
    /// The entry with this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The same table as JSON, spans dropped.
    pub fn to_json(&self) -> Json {
        self.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
    }
}

impl serde::Serialize for Table {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// Parses TOML text.
///
/// Errors: every syntax error; returned with the tree that could be read
pub fn parse(text: &str) -> (Table, Vec<Diagnostic>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Diagnostic> = errors.iter().map(syntax_error).collect();
    let table = table(text, root.span().into(), root.get_ref(), &mut problems);
    (table, problems)
}

/// Parses one TOML value, such as the right side of `--set`; spans count from 0.
///
/// Errors: the first syntax error
pub fn parse_value(text: &str) -> Result<Node, Diagnostic> {
    let parsed = DeValue::parse(text).map_err(|error| syntax_error(&error))?;
    let mut problems = Vec::new();
    let node = node(text, parsed.span().into(), parsed.get_ref(), &mut problems);
    problems.pop().map_or(Ok(node), Err)
}

fn syntax_error(error: &toml::de::Error) -> Diagnostic {
    let span = error.span().map_or(Span::default(), Span::from);
    let mut lines = error.message().lines();
    let message = format!("not valid TOML: {}", lines.next().unwrap_or("syntax error"));
    Diagnostic::new(span, message, lines.next().unwrap_or("here"))
}

fn table(text: &str, span: Span, from: &DeTable<'_>, problems: &mut Vec<Diagnostic>) -> Table {
    let mut entries: Vec<Entry> = Vec::with_capacity(from.len());
    for (key, value) in from {
        let node = node(text, value.span().into(), value.get_ref(), problems);
        let key_span = key.span().into();
        entries.push(Entry { key: key.get_ref().to_string(), key_span, node });
    }
    entries.sort_by_key(|entry| entry.key_span.start);
    Table { span, entries }
}

fn node(text: &str, span: Span, from: &DeValue<'_>, problems: &mut Vec<Diagnostic>) -> Node {
    let (span, value) = match from {
        DeValue::String(string) => (inside_quotes(text, span, string), string.to_string().into()),
        DeValue::Integer(integer) => (span, whole(span, integer, problems)),
        DeValue::Float(float) => (span, finite(span, float.as_str(), problems)),
        DeValue::Boolean(truth) => (span, Value::Boolean(*truth)),
        DeValue::Datetime(stamp) => (span, Value::String(stamp.to_string())),
        DeValue::Array(items) => {
            let items = items
                .iter()
                .map(|item| node(text, item.span().into(), item.get_ref(), problems))
                .collect();
            (span, Value::Array(items))
        }
        DeValue::Table(inner) => (span, Value::Table(table(text, span, inner, problems))),
    };
    Node { span, value }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

fn whole(span: Span, from: &toml::de::DeInteger<'_>, problems: &mut Vec<Diagnostic>) -> Value {
    let digits = from.as_str().replace('_', "");
    let number = i64::from_str_radix(&digits, from.radix()).unwrap_or_else(|_| {
        let message = format!("number {digits} is out of range");
        problems.push(Diagnostic::new(span, message, "expected a 64-bit number"));
        0
    });
    Value::Integer(number)
}

/// Refuses infinity and NaN: neither a plan nor JSON can represent them.
fn finite(span: Span, digits: &str, problems: &mut Vec<Diagnostic>) -> Value {
    let number: f64 = digits.replace('_', "").parse().unwrap_or(f64::NAN);
    if !number.is_finite() {
        let message = format!("number {digits} is not finite");
        problems.push(Diagnostic::new(span, message, "expected a finite number"));
    }
    Value::Float(number)
}

/// The span between the quotes, if the source contains the text literally.
fn inside_quotes(source: &str, span: Span, text: &str) -> Span {
    let written = source.get(span.start..span.end).unwrap_or_default();
    match written.find(text) {
        Some(at) if !text.is_empty() => Span::new(span.start + at, span.start + at + text.len()),
        _ => span,
    }
}

/// Takes entries out of a table by name and type. Collects a diagnostic for each that does not fit,
/// and on `finish` one for each unknown entry, with a suggestion.
#[derive(Debug)]
pub struct Reader<'a> {
    table: &'a Table,
    taken: Vec<String>,
    problems: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// Reads this table.
    pub fn new(table: &'a Table) -> Self {
        Self { table, taken: Vec::new(), problems: Vec::new() }
    }

    /// The node under `key`, of any type.
    pub fn node(&mut self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The entry under `key`, of any type.
    pub fn entry(&mut self, key: &str) -> Option<&'a Entry> {
        if !self.taken.iter().any(|taken| taken == key) {
            self.taken.push(key.to_owned());
        }
        self.table.get(key)
    }

    /// Text under `key`, with its span.
    pub fn string(&mut self, key: &str) -> Option<(&'a str, Span)> {
        self.typed(key, "text", |node| Some((node.as_str()?, node.span)))
    }

    /// A sub-table under `key`.
    pub fn table(&mut self, key: &str) -> Option<&'a Table> {
        self.typed(key, "a table", |node| match &node.value {
            Value::Table(table) => Some(table),
            _ => None,
        })
    }

    /// A list under `key`.
    pub fn array(&mut self, key: &str) -> Option<&'a [Node]> {
        self.typed(key, "a list", |node| match &node.value {
            Value::Array(nodes) => Some(nodes.as_slice()),
            _ => None,
        })
    }

    /// A list of tables under `key`; items of another type are reported and left out.
    pub fn tables(&mut self, key: &str) -> Vec<&'a Table> {
        let nodes = self.array(key).unwrap_or_default();
        let mut tables = Vec::with_capacity(nodes.len());
        for node in nodes {
            match &node.value {
                Value::Table(table) => tables.push(table),
                _ => self.problem(node.unlike("a table")),
            }
        }
        tables
    }

    /// A list of texts under `key`; items of another type are reported and left out.
    pub fn strings(&mut self, key: &str) -> Vec<(&'a str, Span)> {
        let nodes = self.array(key).unwrap_or_default();
        let mut texts = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node.as_str() {
                Some(text) => texts.push((text, node.span)),
                None => self.problem(node.unlike("text")),
            }
        }
        texts
    }

    /// A truth value under `key`.
    pub fn boolean(&mut self, key: &str) -> Option<bool> {
        self.typed(key, "true or false", |node| match node.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        })
    }

    /// A whole number under `key`.
    pub fn integer(&mut self, key: &str) -> Option<(i64, Span)> {
        self.typed(key, "a whole number", |node| match node.value {
            Value::Integer(number) => Some((number, node.span)),
            _ => None,
        })
    }

    /// A whole number between `least` and `most` under `key`.
    pub fn count(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let expected = match (least, most) {
            (0, u64::MAX) => "a whole number, 0 or more".to_owned(),
            (_, u64::MAX) => format!("a whole number, {least} or more"),
            _ => format!("a whole number from {least} to {most}"),
        };
        self.typed(key, &expected, |node| match node.value {
            Value::Integer(number) => {
                u64::try_from(number).ok().filter(|number| (least..=most).contains(number))
            }
            _ => None,
        })
    }

    /// A number under `key`, whole or not.
    pub fn number(&mut self, key: &str) -> Option<(f64, Span)> {
        self.typed(key, "a number", |node| match node.value {
            Value::Integer(number) => Some((number as f64, node.span)),
            Value::Float(number) if number.is_finite() => Some((number, node.span)),
            _ => None,
        })
    }

    /// A text under `key` that `parse` understands; a bare number is reported as a text without its
    /// unit.
    pub fn parsed<T>(
        &mut self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<(T, Span)> {
        self.typed(key, expected, |node| Some((parse(node.as_str()?)?, node.span)))
    }

    fn typed<T>(
        &mut self,
        key: &str,
        expected: &str,
        take: impl FnOnce(&'a Node) -> Option<T>,
    ) -> Option<T> {
        let node = self.node(key)?;
        let taken = take(node);
        if taken.is_none() {
            self.problems.push(node.unlike(expected));
        }
        taken
    }

    /// Notes a problem.
    pub fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Notes that `key` is missing.
    pub fn missing(&mut self, key: &str, example: &str) {
        let span = self.table.heading();
        let problem = Diagnostic::new(span, format!("missing key `{key}`"), "in this table");
        self.problems.push(problem.with_hint(format!("add {example}")));
    }

    /// Every problem, unknown keys included.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        for entry in &self.table.entries {
            if !self.taken.contains(&entry.key) {
                let known = self.taken.iter().map(String::as_str);
                self.problems.push(Diagnostic::unknown("key", &entry.key, entry.key_span, known));
            }
        }
        self.problems
    }
}

impl Table {
    /// The table's place for messages: its first key, if it has entries.
    fn heading(&self) -> Span {
        match self.entries.first() {
            Some(first) if self.span.is_empty() => first.key_span,
            _ => self.span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_spans_are_those_of_the_file() {
        let source = "zeta = \"a b\"\nalpha = 1\n[t]\nx = [1.5, true]\n";
        let (table, problems) = parse(source);
        assert_eq!(problems, []);
        let keys: Vec<_> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["zeta", "alpha", "t"]);
        let span = table.entries[0].node.span;
        assert_eq!(&source[span.start..span.end], "a b");
        assert_eq!(
            table.to_json(),
            serde_json::json!({"zeta": "a b", "alpha": 1, "t": {"x": [1.5, true]}})
        );
    }

    #[test]
    fn escaped_text_keeps_the_whole_span() {
        let source = r#"a = "x\ty""#;
        let (table, _) = parse(source);
        let span = table.entries[0].node.span;
        assert_eq!(&source[span.start..span.end], r#""x\ty""#);
        assert_eq!(span.within("x\ty", 1, 2), span);
    }

    #[test]
    fn every_problem_is_collected_and_unknown_keys_have_near_misses() {
        let (table, _) = parse("path = 5\nmethd = \"GET\"\nn = \"x\"\n");
        let mut reader = Reader::new(&table);
        assert_eq!(reader.string("path"), None);
        assert_eq!(reader.string("method"), None);
        assert_eq!(reader.integer("n"), None);
        let problems = reader.finish();
        let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            ["expected text, got 5", "expected a whole number, got \"x\"", "unknown key `methd`"]
        );
        assert_eq!(problems[2].label, "did you mean `method`?");
    }

    #[test]
    fn all_syntax_errors_are_reported() {
        let (_, problems) = parse("a = \nb = 1\nc = = 2\n");
        assert!(problems.len() >= 2, "{problems:?}");
        assert!(problems.iter().all(|problem| problem.message.starts_with("not valid TOML")));
    }
}
