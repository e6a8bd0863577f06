//! `auth`: the value of the field `authorization`, from a token or from user and password.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Reader, Table};
use plan::template::{Scope, Template};

use super::fields::Fields;
use crate::http::encoding;
use crate::http::request::{Credentials, Piece};
use crate::table::template;

/// Reads `auth`; the fields are those of `header`.
pub fn read(reader: &mut Reader<'_>, scope: Scope<'_>, fields: &Fields) -> Option<Piece> {
    let span = reader.entry("auth")?.key_span;
    let table = reader.table("auth")?;
    if fields.has("authorization") {
        let what = "`auth` and header authorization exclude each other";
        reader.problem(Diagnostic::new(span, what, "remove one of them"));
    }
    let mut inner = Reader::new(table);
    let token = inner.string("bearer").and_then(|text| text_of(&mut inner, "bearer", text, scope));
    let pair = inner.table("basic").and_then(|table| basic(&mut inner, table, scope));
    if table.get("bearer").is_some() == table.get("basic").is_some() {
        let what = "`auth` needs either `bearer` or `basic`";
        let problem = Diagnostic::new(table.span, what, "in this table");
        inner.problem(problem.with_hint("write auth = { bearer = \"{{login.token}}\" }"));
    }
    inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    match (token, pair) {
        (Some(token), _) => Some(bearer(token)),
        (None, Some((user, password))) => Some(of_pair(user, password)),
        (None, None) => None,
    }
}

/// `user` and `password`.
fn basic(reader: &mut Reader<'_>, table: &Table, scope: Scope<'_>) -> Option<(Template, Template)> {
    let mut inner = Reader::new(table);
    let user = inner.string("user");
    let password = inner.string("password");
    if table.get("user").is_none() {
        inner.missing("user", "user = \"ada\"");
    }
    if table.get("password").is_none() {
        inner.missing("password", "password = \"{{env.PASSWORD}}\"");
    }
    if let Some((user, span)) = user.filter(|(user, _)| !user.contains("{{") && user.contains(':'))
    {
        let what = format!("user {user:?} holds a colon");
        inner.problem(Diagnostic::new(span, what, "the password begins at the first colon"));
    }
    let user = user.and_then(|text| text_of(&mut inner, "user", text, scope));
    let password = password.and_then(|text| text_of(&mut inner, "password", text, scope));
    inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    user.zip(password)
}

/// The template under this key. Its text is a secret, so that no message holds it.
fn text_of(
    reader: &mut Reader<'_>,
    key: &str,
    (text, span): (&str, Span),
    scope: Scope<'_>,
) -> Option<Template> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        let what = format!("`{key}` holds a control character");
        let problem = Diagnostic::new(span, what, "expected one line of text");
        reader.problem(problem.with_hint("remove line breaks, also from the end of a secret"));
        return None;
    }
    template(reader, text, span, scope)
}

fn bearer(token: Template) -> Piece {
    let Some(literal) = token.literal() else {
        return Piece::Credentials(Credentials::Bearer(token));
    };
    let mut value = Vec::new();
    encoding::bearer(literal.as_bytes(), &mut value);
    Piece::Literal(value)
}

fn of_pair(user: Template, password: Template) -> Piece {
    let (Some(name), Some(word)) = (user.literal(), password.literal()) else {
        return Piece::Credentials(Credentials::Basic(user, password));
    };
    let mut value = Vec::new();
    encoding::basic(format!("{name}:{word}").as_bytes(), &mut value);
    Piece::Literal(value)
}
