//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `nats`, what `expect` says of a body, and the paths of `items`.

mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;
use plan::template::{Scope, Template};

use super::codec::command::is_subject;
use super::operation::{Action, Operation};
use crate::http::compile::expect;
use crate::table::{no_requests, template, text, values};

/// The key of a publication, which has no reply.
pub const PUBLISH: &str = "publish";
/// The key of each action, of which an operation has one.
const ACTIONS: [(&str, Action); 3] =
    [(PUBLISH, Action::Publish), ("request", Action::Request), ("jetstream", Action::JetStream)];

/// Most copies of a message that leave together.
const MOST_COPIES: u64 = 100_000;
/// Most bytes of a line that a server reads, unless `max_control_line` says otherwise.
const SUBJECT_LIMIT: usize = 4096;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `nats` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let action = action(&mut reader, planned.table.span, scope);
    let payload = payload(&mut reader, scope);
    let headers = headers(&mut reader, scope);
    let copies = copies(&mut reader, action.as_ref().map(|(action, _)| *action));
    let session = session::read(&mut reader);
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    let (rules, items) = expect::of_body_alone(planned, &mut problems);
    if let Some((Action::Publish, _)) = action {
        no_reply(planned, &mut problems);
    }
    match (action, payload) {
        (Some((action, subject)), Some(payload)) if problems.is_empty() => {
            let (session, rows) = (Arc::new(session), planned.rows.clone());
            Ok(Operation { session, action, subject, headers, payload, copies, rows, rules, items })
        }
        _ => Err(problems),
    }
}

/// `publish`, `request` or `jetstream`: what is done, and the subject.
fn action(reader: &mut Reader<'_>, table: Span, scope: Scope<'_>) -> Option<(Action, Template)> {
    let named = |(key, action)| Some((key, action, reader.string(key)?));
    let found: Vec<_> = ACTIONS.into_iter().filter_map(named).collect();
    let mut found = found.into_iter();
    let (_, action, (subject, span)) = found.next().or_else(|| {
        let what = "none of `publish`, `request` and `jetstream` is given";
        let problem = Diagnostic::new(table, what, "what to send is missing");
        reader.problem(problem.with_hint("add publish = \"orders.new\""));
        None
    })?;
    if let Some((key, _, (_, span))) = found.next() {
        let what = "an operation is one of `publish`, `request` and `jetstream`";
        let problem = Diagnostic::new(span, what, format!("`{key}` is the second"));
        reader.problem(problem.with_hint("make it an operation of its own"));
    }
    let template = template(reader, subject, span, scope)?;
    if template.literal().is_some_and(|subject| !is_subject(subject.as_bytes())) {
        let what = format!("{subject:?} is not a subject that can be published to");
        let problem = Diagnostic::new(span, what, "expected words between dots");
        reader.problem(problem.with_hint("write a subject without blanks, `*` and `>`"));
    }
    if subject.len() > SUBJECT_LIMIT {
        let what = format!("a subject of {} bytes", subject.len());
        let label = format!("a server reads lines of {SUBJECT_LIMIT} bytes");
        reader.problem(Diagnostic::new(span, what, label));
    }
    Some((action, template))
}

/// `payload`: empty by default.
fn payload(reader: &mut Reader<'_>, scope: Scope<'_>) -> Option<Template> {
    let Some(node) = reader.node("payload") else {
        return Template::compile("", Span::default(), scope).ok();
    };
    let text = text(reader, node)?;
    template(reader, &text, node.span, scope)
}

/// `copies`: 1 by default.
fn copies(reader: &mut Reader<'_>, action: Option<Action>) -> usize {
    const KEY: &str = "copies";
    let Some(copies) = reader.count(KEY, 1, MOST_COPIES) else { return 1 };
    if matches!(action, Some(Action::Request | Action::JetStream))
        && let Some(node) = reader.node(KEY)
    {
        let what = "`copies` needs `publish`: any other message has an answer of its own";
        let problem = Diagnostic::new(node.span, what, "remove this");
        reader.problem(problem.with_hint("use `streams` for several messages at a time"));
    }
    copies as usize
}

/// `header`: names and values.
fn headers(reader: &mut Reader<'_>, scope: Scope<'_>) -> Vec<(String, Template)> {
    let Some(table) = reader.table("header") else { return Vec::new() };
    for entry in &table.entries {
        let is_letter = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        if entry.key.is_empty() || !entry.key.bytes().all(is_letter) {
            let what = format!("{:?} is not the name of a header", entry.key);
            let label = "expected ASCII without blanks and colons";
            reader.problem(Diagnostic::new(entry.key_span, what, label));
        }
    }
    let values = values(reader, table, scope);
    for (name, value) in &values {
        if value.literal().is_some_and(|value| value.contains(['\r', '\n'])) {
            let what = format!("the value of header {name} has a line end");
            let problem = Diagnostic::new(table.span, what, "in these headers");
            reader.problem(problem.with_hint("a list gives a name several values"));
        }
    }
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Refuses what reads a reply.
fn no_reply(planned: &plan::operation::Operation, problems: &mut Vec<Diagnostic>) {
    let expect = planned.expect.as_ref().map(|table| table.span);
    let item = planned.items.first().map(|item| item.span);
    for (key, span) in [("expect", expect), ("items", item)] {
        let Some(span) = span else { continue };
        let what = format!("`{key}` reads a reply, and `publish` has none");
        let problem = Diagnostic::new(span, what, "remove this");
        problems.push(problem.with_hint("use `request` or `jetstream` to wait for a reply"));
    }
}
