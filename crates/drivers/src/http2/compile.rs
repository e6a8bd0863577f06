//! From the experiment file to a compiled operation: the tables are those of `http`, less what HTTP/2 has no place for.

use http::uri::Authority;
use plan::diagnostic::Diagnostic;
use plan::document::{Entry, Node, Table, Value};

use super::operation::Operation;
use super::request::{OF_A_CONNECTION, Request};
use crate::http::answer_check::AnswerCheck;
use crate::http::compile::request::drafts;
use crate::table::one_or_more;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `http2` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let misplaced = misplaced(&planned.table);
    let draft = match drafts(planned) {
        Ok(draft) if misplaced.is_empty() => draft,
        Ok(_) => return Err(misplaced),
        Err(problems) => return Err(problems.into_iter().chain(misplaced).collect()),
    };
    let refuse = |what: String| {
        vec![Diagnostic::new(planned.table.span, what, "in the requests of this operation")]
    };
    let requests = draft.requests.iter().map(Request::of).collect::<Result<Vec<_>, _>>();
    let requests = requests.map_err(&refuse)?;
    let redirected = draft.redirected(Request::of).map_err(&refuse)?;
    let check = AnswerCheck::of(draft.expectation, draft.continuation, planned);
    let meaning =
        crate::http::operation::Operation { requests, redirected, address: draft.address, check };
    Ok(Operation::new(meaning))
}

/// Fields of the `header` table that no request of HTTP/2 may have.
fn misplaced(table: &Table) -> Vec<Diagnostic> {
    match table.get("header").map(|entry| &entry.node.value) {
        Some(Value::Table(fields)) => fields.entries.iter().filter_map(field).collect(),
        _ => Vec::new(),
    }
}

fn field(entry: &Entry) -> Option<Diagnostic> {
    let is = |name: &str| entry.key.eq_ignore_ascii_case(name);
    let values = || one_or_more(Some(&entry.node)).iter();
    if OF_A_CONNECTION.iter().any(|name| is(name))
        || is("te") && values().any(|value| value.as_str() != Some("trailers"))
    {
        let what = format!("header {} has no place in HTTP/2", entry.key);
        return Some(Diagnostic::new(entry.key_span, what, "remove this"));
    }
    let wrong = values().find(|value| is("host") && !is_authority(value))?;
    let what = "header host is not host and port, which HTTP/2 says in its place";
    Some(Diagnostic::new(wrong.span, what, "expected text such as example.org:8443"))
}

/// Placeholders are none: what requests are addressed to is the same for all of them.
fn is_authority(value: &Node) -> bool {
    value.as_str().is_some_and(|text| text.parse::<Authority>().is_ok())
}
