//! Every example of `FILTERS.md` and `SCHEMAS.md` works as the page says.

use std::collections::BTreeSet;
use std::sync::Arc;

use filtering::{Bounds, Filter};
use registry::api_error::{ApiError, Code, invalid_filter};
use registry::identity::Identity;
use registry::schema::Schema;
use registry::store::view::View;
use serde_json::{Map, Value};

const PAGES: &str = concat!(
    include_str!("../../../service-kit/filtering/FILTERS.md"),
    include_str!("../SCHEMAS.md")
);

/// 2026-11-21T13:40:00.000Z
const NOW: u64 = 1_795_268_400_000;

/// The code block with that name.
fn block(name: &str) -> Value {
    let start = format!("```json {name}\n");
    let (_, rest) = PAGES.split_once(&start).expect("a block of that name");
    let (json, _) = rest.split_once("```").expect("an end of the block");
    serde_json::from_str(json).expect("JSON")
}

/// Rows of tables whose header begins like this: cells without their backticks.
fn rows(header: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = PAGES.lines();
    while let Some(line) = lines.next() {
        if line != header {
            continue;
        }
        for row in lines.by_ref().skip(1).take_while(|line| line.starts_with('|')) {
            let cells = row.trim_matches('|').split(" | ");
            rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
        }
    }
    rows
}

fn json(cell: &str) -> Value {
    serde_json::from_str(cell.trim_matches('`')).unwrap_or_else(|error| panic!("{cell}: {error}"))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn filters_find_whom_the_page_says() {
    let mut view = View::new(&["kind".into(), "place.floor".into()]);
    let identities = object(block("identities"));
    for (name, metadata) in &identities {
        view.put(Arc::new(Identity {
            name: name.as_str().into(),
            metadata: object(metadata.clone()),
            registered_at: 0,
            expires_at: None,
        }));
    }
    let rows = rows("| filter | finds |");
    assert!(rows.len() >= 30, "{} rows", rows.len());
    for row in rows {
        let filter = Filter::parse(&json(&row[0]), Bounds::default());
        let filter = filter.unwrap_or_else(|error| panic!("{}: {error}", row[0]));
        let found = view.targets(&filter, 0);
        let found: BTreeSet<&str> = found.iter().map(|name| &**name).collect();
        let wanted: BTreeSet<&str> = match row[1].as_str() {
            "everybody" => identities.keys().map(String::as_str).collect(),
            "nobody" => BTreeSet::new(),
            names => names.split(", ").collect(),
        };
        assert_eq!(found, wanted, "{}", row[0]);
    }
}

/// Compares an error with its row: the place, and the message without the page's backticks.
fn assert_refused(error: &ApiError, code: Code, row: &[String]) {
    assert_eq!(error.code, code);
    assert_eq!(error.at.as_deref(), Some(row[1].trim_matches('`')), "{}", row[0]);
    assert!(error.message.contains(&row[2]), "{}: {error}", row[0]);
}

#[test]
fn errors_are_those_of_the_page() {
    let filters = rows("| filter | refused at | because |");
    assert!(filters.len() >= 4);
    for row in filters {
        let refusal = Filter::parse(&json(&row[0]), Bounds::default()).expect_err(&row[0]);
        assert_refused(&invalid_filter(refusal), Code::InvalidFilter, &row);
    }
    let schema = Schema::parse(&block("schema")).unwrap();
    let metadata = rows("| metadata | refused at | because |");
    assert!(metadata.len() >= 4);
    for row in metadata {
        let error = schema.apply(object(json(&row[0])), NOW).expect_err(&row[0]);
        assert_refused(&error, Code::InvalidMetadata, &row);
    }
}

#[test]
fn metadata_are_completed_as_the_page_says() {
    let schema = Schema::parse(&block("schema")).unwrap();
    let registered = schema.apply(object(block("given")), NOW).unwrap();
    assert_eq!(Value::Object(registered), block("registered"));
    assert_eq!(schema.indexes(), ["kind", "place.floor", "seen_at", "status"]);
}
