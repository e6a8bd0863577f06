//! `-ERR`: its short name, whether the connection survives it, and what it refers to.

/// Characters of an error that are shown.
const SHOWN_LIMIT: usize = 200;

/// What errors begin with, and their names. No others: what a server says may repeat a password, and is no name.
const NAMES: [(&str, &str); 20] = [
    ("authorization", "authorization"),
    ("authentication", "authorization"),
    ("user authentication", "authorization"),
    ("account authentication", "authorization"),
    ("permissions violation", "permissions"),
    ("maximum payload", "max_payload"),
    ("maximum connections", "max_connections"),
    ("maximum account active connections", "max_connections"),
    ("maximum subscriptions", "max_subscriptions"),
    ("secure connection", "tls_required"),
    ("invalid publish subject", "invalid_subject"),
    ("invalid subject", "invalid_subject"),
    ("invalid client protocol", "invalid_protocol"),
    ("unknown protocol operation", "unknown_operation"),
    ("parser error", "parser_error"),
    ("maximum control line", "max_control_line"),
    ("slow consumer", "slow_consumer"),
    ("stale connection", "stale_connection"),
    ("server shutdown", "server_shutdown"),
    ("message headers not supported", "headers"),
];

/// Errors after which the server keeps the connection.
const SURVIVED: [&str; 4] = [
    "permissions violation",
    "invalid subject",
    "invalid publish subject",
    "maximum subscriptions",
];

/// The short name of an error; `error` where it is none that NATS documents.
pub fn name(error: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(error).to_ascii_lowercase();
    let known = NAMES.iter().find(|(begin, _)| text.starts_with(begin));
    known.map_or("error", |(_, name)| name)
}

/// Whether the server closes the connection after this error.
pub fn is_final(error: &[u8]) -> bool {
    let begins = |begin: &str| {
        error.get(..begin.len()).is_some_and(|own| own.eq_ignore_ascii_case(begin.as_bytes()))
    };
    !SURVIVED.iter().any(|begin| begins(begin))
}

/// The subject that the error names in quotes.
pub fn subject(error: &[u8]) -> Option<&[u8]> {
    let begin = memchr::memchr(b'"', error)? + 1;
    let length = memchr::memchr(b'"', &error[begin..])?;
    Some(&error[begin..begin + length])
}

/// A text of the server as it may be shown; what would steer a terminal is replaced.
pub fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let is_control = |letter: char| letter.is_control() || letter == '\u{fffd}';
    let printable = text.chars().map(|letter| if is_control(letter) { '?' } else { letter });
    let mut line: String = printable.clone().take(SHOWN_LIMIT).collect();
    if printable.count() > SHOWN_LIMIT {
        line.push('…');
    }
    line
}
