//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `websocket`, what `expect` says of a body, and the paths of `items`.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use plan::diagnostic::Diagnostic;
use plan::document::{Reader, Table, Value};
use plan::operation::Operation as Planned;
use plan::template::Scope;

use super::correlation::Correlation;
use super::handshake::Handshake;
use super::operation::{Ask, Operation};
use crate::expect::json_scan::Place;
use crate::http::compile::expect::{self, not_a_path};
use crate::http::compile::fields::{Field, literal};
use crate::http::compile::payload;
use crate::http::compile::request::RequestDraft;
use crate::http::request::Piece;
use crate::http1;
use crate::table::{no_requests, one_or_more, template, text};

/// Fields that make the request a handshake.
const OURS: [&str; 6] = [
    "connection",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "upgrade",
];
/// Keys that say what a message is.
const MESSAGE: [&str; 2] = ["body", "json"];
/// Keys of a message.
const OF_A_MESSAGE: [&str; 2] = ["answer", "binary"];

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `websocket` and `expect` tables and of its items
pub fn operation(planned: &Planned) -> Result<Operation, Vec<Diagnostic>> {
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let asks = MESSAGE.iter().any(|key| planned.table.get(key).is_some());
    let handshake = handshake(&mut reader, scope, planned.is_step && !asks);
    let message = asks.then(|| payload::read(&mut reader, scope).payload).flatten();
    let is_binary = reader.boolean("binary").unwrap_or(false);
    let correlation = correlation(&mut reader, scope);
    if asks {
        same_for_all(&mut reader, &handshake, &planned.table);
    } else {
        opens(&mut reader, planned);
    }
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    let (rules, items) = expect::of_body_alone(planned, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let ask = message.map(|message| {
        let (correlation, unasked) = (Arc::new(correlation), AtomicU64::new(0));
        Ask { message, is_binary, correlation, rules, items, unasked }
    });
    Ok(Operation { handshake: Arc::new(handshake), rows: planned.rows.clone(), ask })
}

/// The request: path, query and header fields as of `http`, and `subprotocol`.
fn handshake(reader: &mut Reader<'_>, scope: Scope<'_>, cookies: bool) -> Handshake {
    if let Some(entry) = reader.table("header").and_then(|table| ours(table)) {
        let what = format!("header {} belongs to the handshake", entry.key);
        let hint = match entry.key.eq_ignore_ascii_case("sec-websocket-protocol") {
            true => "write subprotocol = \"…\" beside `path`",
            false => "remove it",
        };
        let problem = Diagnostic::new(entry.key_span, what, "the instrument's own");
        reader.problem(problem.with_hint(hint));
    }
    let mut draft = RequestDraft::head(reader, scope);
    if let (Piece::Url(_), Some(entry)) = (&draft.path, reader.entry("url")) {
        let what = "the host of a socket cannot be captured";
        let problem = Diagnostic::new(entry.node.span, what, "has a placeholder in its host");
        reader.problem(problem.with_hint("write `path`, and the host as `target`"));
    }
    draft.cookies = cookies;
    let subprotocols = subprotocols(reader);
    let mut fields = vec![
        ("upgrade", "websocket".to_owned()),
        ("connection", "Upgrade".to_owned()),
        ("sec-websocket-version", "13".to_owned()),
    ];
    if !subprotocols.is_empty() {
        fields.push(("sec-websocket-protocol", subprotocols.join(", ")));
    }
    for (name, value) in fields {
        draft.fields.push(Field { name: name.to_owned(), value: literal(&value) }, true);
    }
    Handshake { head: http1::compile::encode(&draft).head, subprotocols }
}

fn ours(table: &Table) -> Option<&plan::document::Entry> {
    let is_ours = |key: &str| OURS.iter().any(|name| key.eq_ignore_ascii_case(name));
    table.entries.iter().find(|entry| is_ours(&entry.key))
}

/// `subprotocol`: one, or a list in order of preference.
fn subprotocols(reader: &mut Reader<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for node in one_or_more(reader.node("subprotocol")) {
        let is_name =
            |name: &&str| !name.is_empty() && name.bytes().all(crate::http::field::is_token);
        match node.as_str().filter(is_name) {
            Some(name) => names.push(name.to_owned()),
            None => reader.problem(node.unlike("the name of a subprotocol such as \"graphql-ws\"")),
        }
    }
    names
}

/// `answer`: a text that it contains, or texts and numbers at their places.
fn correlation(reader: &mut Reader<'_>, scope: Scope<'_>) -> Correlation {
    let Some(node) = reader.node("answer") else { return Correlation::Next };
    match &node.value {
        Value::String(text) if !text.is_empty() => {
            let template = template(reader, text, node.span, scope);
            template.map_or(Correlation::Next, Correlation::Contains)
        }
        Value::Table(table) if !table.entries.is_empty() => {
            let mut places = Vec::new();
            for entry in &table.entries {
                let place = Place::compile(&entry.key);
                let place = place.map_err(|error| {
                    reader.problem(not_a_path(&entry.key, entry.key_span, &error));
                });
                let value = text(reader, &entry.node);
                let value = value.and_then(|text| template(reader, &text, entry.node.span, scope));
                places.extend(place.ok().zip(value));
            }
            Correlation::At(places)
        }
        _ => {
            reader.problem(node.unlike("text, or a table such as { \"$.id\" = \"{{sequence}}\" }"));
            Correlation::Next
        }
    }
}

/// A socket carries the messages of many calls, so its handshake cannot depend on one.
fn same_for_all(reader: &mut Reader<'_>, handshake: &Handshake, table: &Table) {
    let is_fixed = |piece: &Piece| matches!(piece, Piece::Literal(_) | Piece::Authority);
    if !handshake.head.iter().all(is_fixed) {
        let what = "the handshake differs from operation to operation";
        let problem = Diagnostic::new(table.span, what, "it belongs to a whole socket");
        reader.problem(problem.with_hint("use {{env.NAME}}, or values in the message"));
    }
}

/// What only a message has.
fn opens(reader: &mut Reader<'_>, planned: &Planned) {
    for entry in OF_A_MESSAGE.iter().filter_map(|key| planned.table.get(key)) {
        let what = format!("`{}` is for an operation that sends a message", entry.key);
        let problem = Diagnostic::new(entry.key_span, what, "this one opens a socket");
        reader.problem(problem.with_hint("add json = { … } or body = \"…\""));
    }
    let expected = planned.expect.as_ref().map(|table| table.span);
    if let Some(span) = expected.or(planned.items.first().map(|item| item.span)) {
        let what = "an operation that opens a socket has no answer to look into";
        reader.problem(Diagnostic::new(span, what, "remove this"));
    }
}
