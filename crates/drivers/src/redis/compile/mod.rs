//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `redis`, what `expect` says of a body, and the paths of `items`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader};
use plan::template::Scope;

use super::codec::command;
use super::operation::{Operation, Piece};
use super::session::{Auth, Session};
use crate::http::compile::expect;
use crate::table::{literal, no_requests, template, text};

/// Commands that change what a connection is, which operations share, or that are not answered by one reply.
const NOT_OF_A_LOAD: [(&str, &str); 18] = [
    ("AUTH", "write user and password beside `command`"),
    ("HELLO", "write user and password beside `command`"),
    ("SELECT", "write db beside `command`"),
    ("SUBSCRIBE", SUBSCRIPTIONS),
    ("PSUBSCRIBE", SUBSCRIPTIONS),
    ("SSUBSCRIBE", SUBSCRIPTIONS),
    ("UNSUBSCRIBE", SUBSCRIPTIONS),
    ("PUNSUBSCRIBE", SUBSCRIPTIONS),
    ("SUNSUBSCRIBE", SUBSCRIPTIONS),
    ("MONITOR", ENDLESS),
    ("SYNC", ENDLESS),
    ("PSYNC", ENDLESS),
    ("MULTI", TRANSACTIONS),
    ("EXEC", TRANSACTIONS),
    ("DISCARD", TRANSACTIONS),
    ("WATCH", TRANSACTIONS),
    ("QUIT", "remove this operation: connections are closed at the end"),
    ("RESET", "remove this operation: it would log other operations out"),
];
const SUBSCRIPTIONS: &str = "remove this operation: messages of a subscription are no replies";
const ENDLESS: &str = "remove this operation: it is not answered by one reply";
const TRANSACTIONS: &str = "use EVAL: other operations share the connection";

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `redis` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let command = pieces(&mut reader, scope);
    if planned.table.get("command").is_none() {
        reader.missing("command", "command = [\"PING\"]");
    }
    let session = session(&mut reader);
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    let (rules, items) = expect::of_body_alone(planned, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let rows = planned.rows.clone();
    Ok(Operation { session: Arc::new(session), command, rows, rules, items })
}

/// `command`: a list of words.
fn pieces(reader: &mut Reader<'_>, scope: Scope<'_>) -> Vec<Piece> {
    let nodes = reader.array("command").unwrap_or_default();
    if let (Some(node), true) = (reader.node("command"), nodes.is_empty()) {
        reader.problem(node.unlike("a list of words such as [\"GET\", \"key\"]"));
    }
    let texts: Vec<_> = nodes.iter().filter_map(|node| Some((text(reader, node)?, node))).collect();
    if let Some((first, node)) = texts.first() {
        let second = texts.get(1).map_or("", |(text, _)| text);
        refuse(reader, first, second, node);
    }
    let (mut pieces, mut fixed) = (Vec::new(), Vec::new());
    command::begin(texts.len(), &mut fixed);
    for (text, node) in &texts {
        let Some(template) = template(reader, text, node.span, scope) else { continue };
        if let Some(literal) = template.literal() {
            command::word(literal.as_bytes(), &mut fixed);
        } else {
            pieces.push(Piece::Fixed(std::mem::take(&mut fixed)));
            pieces.push(Piece::Word(template));
        }
    }
    pieces.push(Piece::Fixed(fixed));
    pieces
}

/// Refuses a command that would disturb other operations on the connection.
fn refuse(reader: &mut Reader<'_>, first: &str, second: &str, node: &Node) {
    let named = NOT_OF_A_LOAD.iter().find(|(name, _)| first.eq_ignore_ascii_case(name));
    let replies = first.eq_ignore_ascii_case("CLIENT") && second.eq_ignore_ascii_case("REPLY");
    let hint = named.map(|(_, hint)| *hint).or_else(|| replies.then_some(ENDLESS));
    if let Some(hint) = hint {
        let what = format!("`{first}` cannot be an operation");
        let problem = Diagnostic::new(node.span, what, "operations share their connections");
        reader.problem(problem.with_hint(hint));
    }
}

/// `user`, `password` and `db`: the same for all operations of a connection.
fn session(reader: &mut Reader<'_>) -> Session {
    let user = literal(reader, "user");
    let password = literal(reader, "password");
    let auth = match (user, password) {
        (user, Some((password, _))) => Some(Auth { user: user.map(|(user, _)| user), password }),
        (Some((_, span)), None) => {
            let problem =
                Diagnostic::new(span, "`user` needs a `password`", "no password beside it");
            reader.problem(problem.with_hint("add password = \"{{env.PASSWORD}}\""));
            None
        }
        (None, None) => None,
    };
    let db = reader.integer("db").map_or(0, |(db, span)| {
        u32::try_from(db).unwrap_or_else(|_| {
            let what = format!("`db` must be 0 or more (got {db})");
            reader.problem(Diagnostic::new(span, what, "the number of a database"));
            0
        })
    });
    Session { auth, db }
}
