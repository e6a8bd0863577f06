//! `capture` of an operation: what its journeys read from the answer.
//!
//! Not here: whether a path or an expression is valid, which the driver knows.

use super::operation::bad_name;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Reader, Table, Value};
use crate::journey::{Capture, CaptureSource, Decode};

/// Keys that each say where a value stands; `matches` may stand beside `header`.
const SOURCES: [&str; 5] = ["json", "header", "cookie", "matches", "body"];
/// What a captured value may be written as.
const EXPECTED: &str =
    "a JSONPath such as \"$.token\", or a table such as { header = \"location\" }";
/// Names that stand for something else in front of the dot of a placeholder.
const TAKEN: [&str; 3] = ["row", "env", "factor"];

/// Reads them. `places`: how many captures the arm has, these included afterwards.
pub(super) fn read(reader: &mut Reader<'_>, owner: &str, places: &mut usize) -> Vec<Capture> {
    let entries = reader.table("capture").map(|table| table.entries.as_slice()).unwrap_or_default();
    if let Some(first) = entries.first().filter(|_| TAKEN.contains(&owner)) {
        let message = format!("`{{{{{owner}.{}}}}}` would mean something else", first.key);
        let problem = Diagnostic::new(first.key_span, message, "captured by this operation");
        reader.problem(problem.with_hint("give the operation another name"));
    }
    let mut captures = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(problem) = bad_name(&entry.key, entry.key_span) {
            reader.problem(problem);
        }
        if let Some(capture) = one(reader, entry, *places) {
            captures.push(capture);
            *places += 1;
        }
    }
    captures
}

/// A capture of nothing but its place in the answer.
pub(super) fn plain(name: &str, source: CaptureSource, place: usize, span: Span) -> Capture {
    let name = name.to_owned();
    Capture { name, source, all: false, optional: false, decode: None, place, span }
}

fn one(outer: &mut Reader<'_>, entry: &Entry, place: usize) -> Option<Capture> {
    let span = entry.node.span;
    let table = match &entry.node.value {
        Value::String(path) => {
            return Some(plain(&entry.key, CaptureSource::Json(path.clone()), place, span));
        }
        Value::Table(table) => table,
        _ => {
            outer.problem(entry.node.unlike(EXPECTED));
            return None;
        }
    };
    let mut reader = Reader::new(table);
    let source = source(&mut reader, table);
    let capture = Capture {
        all: reader.boolean("all").unwrap_or(false),
        optional: reader.boolean("optional").unwrap_or(false),
        decode: decode(&mut reader),
        ..plain(&entry.key, source.unwrap_or(CaptureSource::Body), place, span)
    };
    if let (true, Some(key @ ("cookie" | "body"))) = (capture.all, main_key(table)) {
        let span = table.get("all").map_or(span, |entry| entry.key_span);
        let message = format!("`all` means nothing beside `{key}`");
        reader.problem(Diagnostic::new(span, message, "there is one value at most"));
    }
    reader.finish().into_iter().for_each(|problem| outer.problem(problem));
    // Kept in any case, so that what refers to it is not reported as well.
    Some(capture)
}

/// The key that says where the value stands.
fn main_key(table: &Table) -> Option<&'static str> {
    SOURCES.into_iter().find(|key| table.get(key).is_some())
}

fn source(reader: &mut Reader<'_>, table: &Table) -> Option<CaptureSource> {
    let json = reader.string("json");
    let header = reader.string("header");
    let cookie = reader.string("cookie");
    let matches = reader.string("matches");
    let body = reader.boolean("body");
    let given = SOURCES.into_iter().filter_map(|key| table.get(key));
    let given: Vec<&Entry> =
        given.filter(|one| one.key != "matches" || table.get("header").is_none()).collect();
    let owned = |text: Option<(&str, _)>| text.map(|(text, _)| text.to_owned());
    match given.as_slice() {
        [] => {
            let message = "the capture does not say where the value stands";
            let known = "expected one of json, header, cookie, matches, body";
            reader.problem(Diagnostic::new(table.span, message, known));
            None
        }
        [_, second, ..] => {
            let message = format!("`{}` and `{}` exclude each other", given[0].key, second.key);
            reader.problem(Diagnostic::new(second.key_span, message, "keep one of them"));
            None
        }
        [one] => match one.key.as_str() {
            "json" => owned(json).map(CaptureSource::Json),
            "header" => {
                Some(CaptureSource::Header { name: owned(header)?, matches: owned(matches) })
            }
            "cookie" => owned(cookie).map(CaptureSource::Cookie),
            "matches" => owned(matches).map(CaptureSource::Matches),
            _ if body == Some(false) => {
                reader.problem(one.node.unlike("true"));
                None
            }
            _ => Some(CaptureSource::Body),
        },
    }
}

fn decode(reader: &mut Reader<'_>) -> Option<Decode> {
    let parse = |text: &str| match text {
        "html" => Some(Decode::Html),
        "url" => Some(Decode::Url),
        _ => None,
    };
    reader.parsed("decode", "\"html\" or \"url\"", parse).map(|(decode, _)| decode)
}
