//! The experiment file as a tree with spans, and a reader that collects every problem.

use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, Span};

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where.
    pub span: Span,
    /// What.
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
    /// Where it stands.
    pub span: Span,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// One entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The same value as JSON, spans dropped.
    pub fn to_json(&self) -> Json {
        todo!()
    }
}

impl Table {
    /// The entry with this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

impl serde::Serialize for Table {
    fn serialize<S: serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        todo!()
    }
}

/// Takes entries out of a table by name and type; collects a diagnostic for each that does not
/// fit, and on `finish` one for each that nobody asked for, with a near miss.
#[derive(Debug)]
pub struct Reader<'a> {
    table: &'a Table,
    taken: Vec<&'static str>,
    problems: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// Reads this table.
    pub fn new(table: &'a Table) -> Self {
        Self { table, taken: Vec::new(), problems: Vec::new() }
    }

    /// The node under `key`, whatever its type.
    pub fn node(&mut self, key: &'static str) -> Option<&'a Node> {
        self.taken.push(key);
        self.table.get(key).map(|entry| &entry.node)
    }

    /// Text under `key`, with its span.
    pub fn string(&mut self, _key: &'static str) -> Option<(&'a str, Span)> {
        todo!()
    }

    /// A sub-table under `key`.
    pub fn table(&mut self, _key: &'static str) -> Option<&'a Table> {
        todo!()
    }

    /// A truth value under `key`.
    pub fn boolean(&mut self, _key: &'static str) -> Option<bool> {
        todo!()
    }

    /// A whole number under `key`.
    pub fn integer(&mut self, _key: &'static str) -> Option<(i64, Span)> {
        todo!()
    }

    /// Notes a problem.
    pub fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Everything that was wrong, unknown keys included.
    pub fn finish(self) -> Vec<Diagnostic> {
        todo!()
    }
}
