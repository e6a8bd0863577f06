//! From the drafts of an operation to the bytes of its requests.

use plan::diagnostic::Diagnostic;

use super::driver::Operation;
use super::request::Request;
use crate::http::answer_check::AnswerCheck;
use crate::http::compile::pieces::Pieces;
use crate::http::compile::request::{RequestDraft, drafts};
use crate::http::request::{Payload, Piece};

#[cfg(test)]
mod tests;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `http` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let draft = drafts(planned)?;
    let redirected = draft.redirected(|draft| Ok::<_, Vec<Diagnostic>>(encode(draft)))?;
    let requests = draft.requests.iter().map(encode).collect();
    let check = AnswerCheck::of(draft.expectation, draft.continuation, planned);
    Ok(Operation { requests, redirected, address: draft.address, check })
}

/// Puts the head together, literal pieces joined.
pub fn encode(draft: &RequestDraft) -> Request {
    let mut head = Pieces::default();
    head.text(&draft.method);
    head.text(" ");
    draft.target().into_iter().for_each(|piece| head.piece(piece));
    head.text(" HTTP/1.1\r\n");
    if !draft.fields.has("host") {
        head.field("host", Piece::Authority);
    }
    for (name, value) in draft.fields() {
        head.field(name, value);
    }
    if draft.sends_cookies() {
        head.piece(Piece::Cookies);
    }
    if draft.traced {
        head.piece(Piece::Trace);
    }
    head.text("\r\n");
    let body = draft.content.payload.clone().unwrap_or_else(|| Payload::Literal([].into()));
    Request { is_head: draft.method == "HEAD", head: head.0, body }
}
