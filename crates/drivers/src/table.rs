//! What tables of all protocols have in common: templates, lists of one, statuses.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Node, Reader, Value};
use plan::operation::Operation;
use plan::rows::Rows;
use plan::template::Template;

use crate::statuses::{Allowed, Statuses};

/// Compiles a template, handing its problems to the reader.
pub fn template(
    reader: &mut Reader<'_>,
    text: &str,
    span: Span,
    rows: Option<&Rows>,
) -> Option<Template> {
    match Template::compile(text, span, rows) {
        Ok(template) => Some(template),
        Err(problems) => {
            problems.into_iter().for_each(|problem| reader.problem(problem));
            None
        }
    }
}

/// Refuses whole requests of a file for an operation that is none of HTTP.
pub fn no_requests(reader: &mut Reader<'_>, planned: &Operation) {
    if planned.requests.is_some() {
        let what = "`targets` holds requests of http";
        reader.problem(Diagnostic::new(planned.table.span, what, "beside this table"));
    }
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
