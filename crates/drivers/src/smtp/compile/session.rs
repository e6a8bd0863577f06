//! `helo`, `tls` and `auth`: what comes before the first message of a connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::driver::CompileContext;
use plan::diagnostic::Diagnostic;
use plan::document::{Reader, Table};
use plan::template::{Scope, Template};

use crate::smtp::codec::offers::Extension;
use crate::smtp::session::{Auth, Session, StartTls};

/// What we call ourselves unless the experiment says otherwise.
const HELO: &str = "client.example";

/// Reads how a session is opened.
pub fn read(reader: &mut Reader<'_>, compile: &CompileContext<'_>) -> Session {
    let helo = reader.parsed("helo", "a name such as client.example", |text| {
        let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_word && !text.contains("{{")).then(|| text.to_owned())
    });
    let tls =
        reader.parsed("tls", "\"never\", \"starttls\" or \"if_offered\"", |text| match text {
            "never" => Some(StartTls::Never),
            "starttls" => Some(StartTls::Always),
            "if_offered" => Some(StartTls::IfOffered),
            _ => None,
        });
    if let Some((StartTls::Always, span)) = tls
        && compile.targets.get(compile.operation.target.index(0)).is_some_and(is_secure)
    {
        let what = "STARTTLS on a target that begins with smtps://";
        let problem = Diagnostic::new(span, what, "TLS is there from the first byte");
        reader.problem(problem.with_hint("remove this, or make the target smtp://"));
    }
    let auth = reader.table("auth").and_then(|table| {
        let mut inner = Reader::new(table);
        let auth = auth(&mut inner, table);
        inner.finish().into_iter().for_each(|problem| reader.problem(problem));
        auth
    });
    Session {
        helo: helo.map_or_else(|| HELO.to_owned(), |(helo, _)| helo),
        tls: tls.map(|(tls, _)| tls).unwrap_or_default(),
        auth,
    }
}

fn is_secure(target: &plan::target::Target) -> bool {
    target.url.starts_with("smtps://")
}

/// `auth = { mechanism = "plain", user = "…", password = "…" }`.
fn auth(reader: &mut Reader<'_>, table: &Table) -> Option<Auth> {
    let expected = "\"plain\" or \"login\"";
    let mechanism = reader.parsed("mechanism", expected, |text| match text {
        "plain" => Some(Extension::AuthPlain),
        "login" => Some(Extension::AuthLogin),
        _ => None,
    });
    let user = word(reader, "user");
    let password = word(reader, "password");
    for (key, example) in
        [("user", "user = \"load\""), ("password", "password = \"{{env.PASSWORD}}\"")]
    {
        if table.get(key).is_none() {
            reader.missing(key, example);
        }
    }
    let mechanism = mechanism.map_or(Extension::AuthPlain, |(mechanism, _)| mechanism);
    Some(proof(mechanism, user?, password?))
}

/// A text that is the same for all messages of a connection.
fn word<'a>(reader: &mut Reader<'a>, key: &str) -> Option<String> {
    let (text, span): (&'a str, _) = reader.string(key)?;
    match Template::compile(text, span, Scope::default()) {
        Ok(template) => match template.literal() {
            Some(literal) if literal.contains('\0') => {
                let what = format!("`{key}` holds a NUL");
                let label = "NUL separates user and password";
                reader.problem(Diagnostic::new(span, what, label));
                None
            }
            Some(literal) => Some(literal.to_owned()),
            None => {
                let what = format!("`{key}` differs from message to message");
                let label = "who logs in is the same for a whole connection";
                reader.problem(Diagnostic::new(span, what, label));
                None
            }
        },
        Err(problems) => {
            problems.into_iter().for_each(|problem| reader.problem(problem));
            None
        }
    }
}

/// The lines of each mechanism: RFC 4616, and the older way in which user and password are asked for one by one.
pub fn proof(mechanism: Extension, user: String, password: String) -> Auth {
    let line = |text: &[u8]| format!("{}\r\n", STANDARD.encode(text)).into_bytes();
    match mechanism {
        Extension::AuthLogin => Auth {
            mechanism,
            lines: vec![
                b"AUTH LOGIN\r\n".to_vec(),
                line(user.as_bytes()),
                line(password.as_bytes()),
            ],
            shown: "AUTH LOGIN",
        },
        _ => {
            let all = [b"AUTH PLAIN ".to_vec(), line(format!("\0{user}\0{password}").as_bytes())];
            Auth { mechanism, lines: vec![all.concat()], shown: "AUTH PLAIN …" }
        }
    }
}
