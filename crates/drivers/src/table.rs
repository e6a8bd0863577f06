//! What tables of all protocols have in common: templates, lists of one, statuses.

use std::borrow::Cow;

use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Node, Reader, Table, Value};
use plan::operation::Operation;
use plan::template::{Scope, Template};

use crate::statuses::{Allowed, Statuses};

/// Compiles a template, handing its problems to the reader.
pub fn template(
    reader: &mut Reader<'_>,
    text: &str,
    span: Span,
    scope: Scope<'_>,
) -> Option<Template> {
    match Template::compile(text, span, scope) {
        Ok(template) => Some(template),
        Err(problems) => {
            problems.into_iter().for_each(|problem| reader.problem(problem));
            None
        }
    }
}

/// A text without placeholders, for what belongs to a whole connection.
pub fn literal(reader: &mut Reader<'_>, key: &str) -> Option<(String, Span)> {
    let (text, span) = reader.string(key)?;
    let template = template(reader, text, span, Scope::default())?;
    if template.literal().is_none() {
        let what = format!("`{key}` differs from operation to operation");
        let label = "it belongs to a whole connection";
        reader.problem(Diagnostic::new(span, what, label));
    }
    template.literal().map(|literal| (literal.to_owned(), span))
}

/// Refuses whole requests of a file for an operation that is none of HTTP.
pub fn no_requests(reader: &mut Reader<'_>, planned: &Operation) {
    if planned.requests.is_some() {
        let what = "`targets` holds requests of http";
        reader.problem(Diagnostic::new(planned.table.span, what, "beside this table"));
    }
}

/// Refuses captures of a protocol whose answers are not read for them.
pub fn no_captures(planned: &Operation, problems: &mut Vec<Diagnostic>) {
    for capture in &planned.captures {
        let what = format!("`{}` cannot be captured from {}", capture.name, planned.protocol);
        let problem = Diagnostic::new(capture.span, what, "remove this");
        problems.push(problem.with_hint("answers of http, http2 and grpc can be captured from"));
    }
}

/// A text, or a number or truth value as it is written.
pub fn text<'a>(reader: &mut Reader<'_>, node: &'a Node) -> Option<Cow<'a, str>> {
    match &node.value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(Cow::Owned(node.shown())),
        _ => {
            reader.problem(node.unlike("text, a number or true or false"));
            None
        }
    }
}

/// Names and values of a table, templates compiled; a list gives its name several times.
pub fn values<'a>(
    reader: &mut Reader<'_>,
    table: &'a Table,
    scope: Scope<'_>,
) -> Vec<(&'a str, Template)> {
    let mut values = Vec::new();
    for entry in &table.entries {
        for node in one_or_more(Some(&entry.node)) {
            let value = text(reader, node);
            let value = value.and_then(|text| template(reader, &text, node.span, scope));
            values.extend(value.map(|value| (entry.key.as_str(), value)));
        }
    }
    values
}

/// The nodes of a list, or the one node where there is none.
pub fn one_or_more(node: Option<&Node>) -> &[Node] {
    match node {
        Some(Node { value: Value::Array(nodes), .. }) => nodes,
        Some(node) => std::slice::from_ref(node),
        None => &[],
    }
}

/// `status`: one, or a list of them.
pub fn statuses(reader: &mut Reader<'_>) -> Option<Statuses> {
    let nodes = one_or_more(reader.node("status"));
    let mut allowed = Vec::new();
    for node in nodes {
        match status(node) {
            Some(status) => allowed.push(status),
            None => reader.problem(node.unlike("a status such as 200 or \"2xx\"")),
        }
    }
    (!allowed.is_empty()).then(|| Statuses::new(allowed))
}

fn status(node: &Node) -> Option<Allowed> {
    match &node.value {
        Value::Integer(code @ 100..=599) => u16::try_from(*code).ok().map(Allowed::Code),
        Value::String(text) => match text.as_bytes() {
            [digit @ b'1'..=b'5', b'x', b'x'] => Some(Allowed::Class(u16::from(digit - b'0'))),
            _ => None,
        },
        _ => None,
    }
}
