//! `rows` and `sessions`: data for an operation, a journey or a preparation.

use std::path::Path;
use std::sync::Arc;

use super::operation::Reading;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Reader, Value};
use crate::operation::RowOrder;
use crate::rows::Rows;
use crate::sessions::Sessions;

impl Reading<'_> {
    /// The data under `rows`.
    pub(super) fn rows(&mut self, reader: &mut Reader<'_>) -> (Option<Arc<Rows>>, RowOrder) {
        let Some(node) = reader.node("rows") else { return (None, RowOrder::default()) };
        match &node.value {
            Value::Array(nodes) => {
                let objects = (1..).zip(nodes).map(|(place, node)| (place, node.to_json()));
                let rows = Rows::from_objects("rows", objects);
                let rows = rows.map_err(|error| format!("rows: {error}"));
                (self.usable(rows, node.span), RowOrder::default())
            }
            Value::Table(table) => {
                let mut inner = Reader::new(table);
                let file = inner.string("file");
                let order = order(&mut inner);
                if table.get("file").is_none() {
                    inner.missing("file", "file = \"data.csv\"");
                }
                self.problems.extend(inner.finish());
                (file.and_then(|(file, span)| self.rows_of(file, span)), order)
            }
            _ => {
                let expected = "{ file = \"data.csv\" } or a list of tables";
                self.problems.push(node.unlike(expected));
                (None, RowOrder::default())
            }
        }
    }

    /// The recorded sessions under `sessions`.
    pub(super) fn sessions(&mut self, reader: &mut Reader<'_>) -> Option<Arc<Sessions>> {
        let (file, span) = reader.string("sessions")?;
        let sessions = self.world.inputs.text(file).and_then(|text| {
            Sessions::parse(file, &text).map_err(|problem| format!("{file} {problem}"))
        });
        match sessions {
            Ok(sessions) => Some(Arc::new(sessions)),
            Err(message) => {
                self.problems.push(Diagnostic::new(span, message, "named here"));
                None
            }
        }
    }

    fn rows_of(&mut self, file: &str, span: Span) -> Option<Arc<Rows>> {
        if let Some(rows) = self.rows.get(file) {
            return Some(Arc::clone(rows));
        }
        let read = self.world.inputs.read(Path::new(file));
        let rows = read.map_err(|error| format!("cannot read {file}: {error}")).and_then(|bytes| {
            Rows::parse(file, &bytes).map_err(|error| format!("cannot use {file}: {error}"))
        });
        let rows = self.usable(rows, span)?;
        self.rows.insert(file.to_owned(), Arc::clone(&rows));
        Some(rows)
    }

    fn usable(&mut self, rows: Result<Rows, String>, span: Span) -> Option<Arc<Rows>> {
        match rows {
            Ok(rows) if !rows.is_empty() => Some(Arc::new(rows)),
            Ok(_) => {
                self.problems.push(Diagnostic::new(span, "there is no row", "named here"));
                None
            }
            Err(message) => {
                self.problems.push(Diagnostic::new(span, message, "named here"));
                None
            }
        }
    }
}

/// How rows are taken.
pub(super) fn order(reader: &mut Reader<'_>) -> RowOrder {
    let parse = |text: &str| match text {
        "round_robin" => Some(RowOrder::RoundRobin),
        "random" => Some(RowOrder::Random),
        "once" => Some(RowOrder::Once),
        _ => None,
    };
    let expected = "\"round_robin\", \"random\" or \"once\"";
    reader.parsed("order", expected, parse).map_or(RowOrder::default(), |(order, _)| order)
}
