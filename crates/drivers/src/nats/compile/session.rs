//! `tls`, `user`, `password` and `token`: the same for all operations of a connection.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;

use crate::nats::session::{Auth, Session, UseTls};
use crate::table::literal;

/// Reads how a connection is opened.
pub(super) fn read(reader: &mut Reader<'_>) -> Session {
    let tls = reader.parsed("tls", "\"never\", \"if_offered\" or \"always\"", |text| match text {
        "never" => Some(UseTls::Never),
        "if_offered" => Some(UseTls::IfOffered),
        "always" => Some(UseTls::Always),
        _ => None,
    });
    let [user, password, token] = ["user", "password", "token"].map(|key| literal(reader, key));
    let auth = match (user, password, token) {
        (Some((user, _)), Some((password, _)), None) => Auth::User { user, password },
        (None, None, Some((token, _))) => Auth::Token(token),
        (None, None, None) => Auth::Nobody,
        (Some((_, span)), _, Some(_)) | (_, Some((_, span)), Some(_)) => {
            let problem = Diagnostic::new(span, "`token` stands alone", "beside `token`");
            reader.problem(problem.with_hint("remove this, or the token"));
            Auth::Nobody
        }
        (Some((_, span)), None, None) => {
            missing(reader, span, "user", "password");
            Auth::Nobody
        }
        (None, Some((_, span)), None) => {
            missing(reader, span, "password", "user");
            Auth::Nobody
        }
    };
    Session { tls: tls.map(|(tls, _)| tls).unwrap_or_default(), auth }
}

fn missing(reader: &mut Reader<'_>, span: Span, key: &str, other: &str) {
    let what = format!("`{key}` needs a `{other}`");
    let problem = Diagnostic::new(span, what, format!("no {other} beside it"));
    reader.problem(
        problem.with_hint(format!("add {other} = \"{{{{env.{}}}}}\"", other.to_uppercase())),
    );
}
