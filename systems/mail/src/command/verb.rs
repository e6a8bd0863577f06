//! Commands: identifies the command of a line, and checks its form against the RFCs.

use std::borrow::Cow;

use smtp_proto::{AUTH_LOGIN, AUTH_PLAIN, Error, Request};

use super::error::CommandError;
use super::parameters::{self, OfferedExtensions, Parameters};
use super::path::{self, is_host};

/// A command in valid form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// `HELO` with the client's name.
    Helo(&'a str),
    /// `EHLO` with the client's name.
    Ehlo(&'a str),
    /// `MAIL`, with the reverse path (empty for `<>`).
    Mail(&'a str, Parameters),
    /// `RCPT`, with the forward path.
    Rcpt(&'a str),
    /// `DATA`.
    Data,
    /// `BDAT`.
    Bdat {
        /// Bytes that follow the line.
        size: u64,
        /// Whether the message ends with them.
        is_last: bool,
    },
    /// `AUTH`.
    Auth {
        /// The mechanism.
        mechanism: Mechanism,
        /// The initial response in base64; `=` means an empty one.
        initial: Option<&'a str>,
    },
    /// `STARTTLS`.
    StartTls,
    /// `RSET`.
    Rset,
    /// `NOOP` with any argument.
    Noop,
    /// `HELP` with any argument.
    Help,
    /// `VRFY` or `EXPN`, which this server does not support.
    Lookup,
    /// `QUIT`.
    Quit,
}

/// Authentication mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// RFC 4616.
    Plain,
    /// Name and password, each on request.
    Login,
    /// An unknown mechanism.
    Unknown,
}

/// Reads a line that ends with CRLF.
pub fn parse(line: &[u8], offers: OfferedExtensions) -> Result<Command<'_>, CommandError> {
    let text = line.strip_suffix(b"\r\n").ok_or(CommandError::Octets)?;
    if text.iter().any(u8::is_ascii_control) {
        return Err(CommandError::Octets);
    }
    let text = std::str::from_utf8(text).map_err(|_| CommandError::Octets)?;
    let verb = text.split(' ').next().unwrap_or("");
    let behind = &line[verb.len()..];
    if verb.eq_ignore_ascii_case("MAIL") {
        let (path, rest) = path_behind(text, "MAIL FROM:")?;
        let parameters = parameters::read(&line[text.len() - rest.len()..], offers)?;
        // Only a recipient may do without a domain.
        let is_sender = path.has_domain || path.mailbox.is_empty();
        return if is_sender {
            Ok(Command::Mail(path.mailbox, parameters))
        } else {
            Err(CommandError::Path)
        };
    }
    if verb.eq_ignore_ascii_case("RCPT") {
        let (path, rest) = path_behind(text, "RCPT TO:")?;
        parameters::refuse_any(&line[text.len() - rest.len()..])?;
        return if path.mailbox.is_empty() {
            Err(CommandError::Path)
        } else {
            Ok(Command::Rcpt(path.mailbox))
        };
    }
    let arguments = text[text.len().min(verb.len() + 1)..].trim_end_matches(' ');
    let request = Request::parse(&mut line.iter()).map_err(|error| match error {
        Error::UnknownCommand => CommandError::Unknown,
        _ if verb.eq_ignore_ascii_case("BDAT") => CommandError::Chunk,
        _ => CommandError::Syntax,
    })?;
    // The library skips spaces before the verb.
    if verb.is_empty() || behind.is_empty() {
        return Err(CommandError::Unknown);
    }
    understand(&request, arguments)
}

/// The path after a command's words, without a space between.
fn path_behind<'a>(text: &'a str, words: &str) -> Result<(path::Path<'a>, &'a str), CommandError> {
    let begins = text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words));
    if !begins {
        return Err(CommandError::Syntax);
    }
    path::read(&text[words.len()..]).ok_or(CommandError::Path)
}

/// Checks what the library parsed against the raw arguments.
fn understand<'a>(
    request: &Request<Cow<'_, str>>,
    arguments: &'a str,
) -> Result<Command<'a>, CommandError> {
    let mut words = arguments.split(' ');
    let words = (words.next().unwrap_or(""), words.next(), words.next());
    let alone =
        |command| if arguments.is_empty() { Ok(command) } else { Err(CommandError::Argument) };
    match request {
        Request::Data => alone(Command::Data),
        Request::Rset => alone(Command::Rset),
        Request::Quit => alone(Command::Quit),
        Request::StartTls => alone(Command::StartTls),
        Request::Helo { .. } if is_host(arguments) => Ok(Command::Helo(arguments)),
        Request::Ehlo { .. } if is_host(arguments) => Ok(Command::Ehlo(arguments)),
        Request::Noop { .. } => Ok(Command::Noop),
        Request::Help { .. } => Ok(Command::Help),
        Request::Vrfy { .. } | Request::Expn { .. } => Ok(Command::Lookup),
        Request::Bdat { chunk_size, is_last } => {
            let is_formed = match words {
                (size, None, None) => !is_last && is_size(size),
                (size, Some(last), None) => is_size(size) && last.eq_ignore_ascii_case("LAST"),
                _ => false,
            };
            let bdat = Command::Bdat { size: *chunk_size as u64, is_last: *is_last };
            if is_formed { Ok(bdat) } else { Err(CommandError::Chunk) }
        }
        Request::Auth { mechanism, .. } => match words {
            (_, initial, None) if initial != Some("") => {
                Ok(Command::Auth { mechanism: known(*mechanism), initial })
            }
            _ => Err(CommandError::Syntax),
        },
        Request::Helo { .. } | Request::Ehlo { .. } => Err(CommandError::Syntax),
        _ => Err(CommandError::Unknown),
    }
}

fn is_size(word: &str) -> bool {
    (1..=20).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn known(mechanism: u64) -> Mechanism {
    match mechanism {
        AUTH_PLAIN => Mechanism::Plain,
        AUTH_LOGIN => Mechanism::Login,
        _ => Mechanism::Unknown,
    }
}
