//! What an entry says of its answer: status, captures and assertions.

use serde_json::Value;

use super::Captures;
use super::entry::{Entry, Line};
use crate::draft::{Capture, Draft, DraftOperation, Expect, Status};
use crate::request::has_null;
use crate::text::Text;

/// Takes the expectations over; the captures by variable.
pub(super) fn read(
    entry: &Entry<'_>,
    operation: &mut DraftOperation,
    draft: &mut Draft,
) -> Captures {
    let is_possible = |status: &u16| (100..=599).contains(status);
    operation.expect.status.extend(entry.status.filter(is_possible).map(Status::Code));
    if let Some(status) = entry.status.filter(|status| !is_possible(status)) {
        draft.note(entry.line, format!("the status {status} that is expected is left out"));
    }
    for line in &entry.asserts {
        if !assert(line.text, &mut operation.expect) {
            draft.note(line.number, format!("the assertion {} is left out", line.text));
        }
    }
    if let Some(line) = entry.expected.first() {
        draft.note(line.number, "the headers and the body that are expected are left out");
    }
    let mut captures = Captures::new();
    for line in &entry.captures {
        match capture(*line) {
            Some(one) => captures.push(one),
            None => draft.note(line.number, format!("the capture {} is left out", line.text)),
        }
    }
    captures
}

/// A query and what follows it: `jsonpath "$.a"` and ` == 1`.
struct Query<'a> {
    name: &'a str,
    argument: Option<String>,
    rest: &'a str,
}

fn query(text: &str) -> Option<Query<'_>> {
    let text = text.trim();
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim_start();
    match rest.starts_with(['"', '/']) {
        true => {
            let (argument, rest) = quoted(rest)?;
            Some(Query { name, argument: Some(argument), rest: rest.trim() })
        }
        false => Some(Query { name, argument: None, rest }),
    }
}

/// A text in quotes, or a pattern between slashes, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    let mut out = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match (letters.next()?.1, quote) {
                ('n', '"') => out.push('\n'),
                ('t', '"') => out.push('\t'),
                ('r', '"') => out.push('\r'),
                (escaped, '"') => out.push(escaped),
                ('/', _) => out.push('/'),
                (escaped, _) => out.extend(['\\', escaped]),
            },
            end if end == quote => return Some((out, &text[at + quote.len_utf8()..])),
            other => out.push(other),
        }
    }
    None
}

/// `name: query filters`
fn capture(line: Line<'_>) -> Option<(String, Capture)> {
    let (name, text) = line.text.split_once(':')?;
    let query = query(text)?;
    let filter = match query.rest.trim_end_matches("redact").trim() {
        "" => None,
        rest => {
            let filter = self::query(rest)?;
            // Only a pattern alone can be said.
            (filter.name == "regex" && filter.rest.is_empty()).then_some(())?;
            Some(filter.argument?)
        }
    };
    let capture = match (query.name, query.argument, filter) {
        ("jsonpath", Some(path), None) => Capture::Json(path),
        ("header", Some(name), pattern) => Capture::Header(name, pattern),
        ("cookie", Some(name), None) if !name.contains('[') => Capture::Cookie(name),
        ("regex", Some(pattern), None) | ("body", None, Some(pattern)) => Capture::Matches(pattern),
        ("body", None, None) => Capture::Body,
        _ => return None,
    };
    Some((name.trim().to_owned(), capture))
}

/// Takes an assertion over, if it can be said.
fn assert(text: &str, expect: &mut Expect) -> bool {
    let Some(query) = query(text) else { return false };
    let Some((verb, value)) = query.rest.split_once(' ') else { return false };
    let value = value.trim();
    let is_quoted = value.starts_with(['"', '/']);
    let string = is_quoted.then(|| quoted(value)).flatten().map(|(text, _)| text);
    match (query.name, verb, query.argument) {
        ("status", "==", None) => {
            let Ok(code) = value.parse() else { return false };
            expect.status = vec![Status::Code(code)];
        }
        ("jsonpath", "==", Some(path)) => {
            let Some(value) = equal(value) else { return false };
            expect.json.push((path, value));
        }
        ("body", "contains", None) => match string {
            Some(text) => expect.contains.push(Text::literal(&text)),
            None => return false,
        },
        ("body", "matches", None) => match string {
            Some(pattern) => expect.matches.push(pattern),
            None => return false,
        },
        _ => return false,
    }
    true
}

/// A value of JSON that TOML has, too.
fn equal(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let value = (!has_null(&value) && !value.is_array() && !value.is_object()).then_some(value)?;
    Some(match value {
        Value::String(text) => Value::String(Text::literal(&text).as_str().to_owned()),
        other => other,
    })
}
