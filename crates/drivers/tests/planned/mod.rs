//! Operations as planned, from the text of their tables, for the tests of every driver.

use plan::document::{self, Value};
use plan::operation::{Item, Operation};

/// The operation of this protocol that the tables of this text make.
pub fn planned(protocol: &str, text: &str) -> Operation {
    let (table, problems) = document::parse(text);
    assert_eq!(problems, [], "the text of the test is TOML");
    let inner = |key: &str| match table.get(key).map(|entry| &entry.node.value) {
        Some(Value::Table(table)) => Some(table.clone()),
        _ => None,
    };
    let items = inner("items").unwrap_or_default().entries.into_iter().map(|entry| Item {
        name: entry.key,
        path: entry.node.as_str().unwrap_or_default().to_owned(),
        counts_events: false,
        span: entry.node.span,
    });
    Operation {
        protocol: protocol.to_owned(),
        table: inner(protocol).unwrap_or_default(),
        expect: inner("expect"),
        items: items.collect(),
        ..Operation::named("test")
    }
}
