//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `smtp` (`session`, `envelope`, `content`), `expect`, and the names of
//! `items`.

pub mod content;
pub mod envelope;
pub mod session;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::driver::CompileContext;
use plan::diagnostic::Diagnostic;
use plan::document::Reader;

use super::operation::{MessageItem, Operation};
use crate::statuses::{Allowed, Statuses};
use crate::table::{no_captures, no_requests, statuses};

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `smtp` and `expect` tables and of its items
pub fn operation(compile: &CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
    let planned = compile.operation;
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let session = session::read(&mut reader, compile);
    let envelope = envelope::read(&mut reader, scope);
    let mut switch = |key, default| reader.boolean(key).unwrap_or(default);
    let (pipelining, chunking) = (switch("pipelining", false), switch("chunking", false));
    let reset = switch("reset", true);
    let content = content::read(&mut reader, &session, envelope.as_ref(), compile);
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    no_captures(planned, &mut problems);
    let statuses = expected(compile, &mut problems);
    let items = items(compile, &mut problems);
    match (envelope, content) {
        (Some(envelope), Some(content)) if problems.is_empty() => Ok(Operation {
            session: Arc::new(session),
            envelope,
            content,
            rows: planned.rows.clone(),
            statuses,
            items,
            pipelining,
            chunking,
            reset,
        }),
        _ => Err(problems),
    }
}

/// `expect`: the codes that mean success, 2yz without it.
fn expected(compile: &CompileContext<'_>, problems: &mut Vec<Diagnostic>) -> Statuses {
    let table = compile.operation.expect.as_ref();
    let found = table.and_then(|table| {
        let mut reader = Reader::new(table);
        let found = statuses(&mut reader);
        problems.extend(reader.finish());
        found
    });
    found.unwrap_or_else(|| Statuses::new(vec![Allowed::Class(2)]))
}

fn items(compile: &CompileContext<'_>, problems: &mut Vec<Diagnostic>) -> Vec<MessageItem> {
    let mut items = Vec::new();
    for item in &compile.operation.items {
        match MessageItem::ALL.into_iter().find(|known| known.name() == item.path) {
            Some(known) => items.push(known),
            None => {
                let known = MessageItem::ALL.map(MessageItem::name);
                problems.push(Diagnostic::unknown("number", &item.path, item.span, known));
            }
        }
    }
    items
}
