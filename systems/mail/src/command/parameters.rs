//! Parameters of `MAIL`: `SIZE`, `BODY`, `SMTPUTF8`, `AUTH`, each at most once, and no others.

use std::borrow::Cow;

use smtp_proto::request::parser::Rfc5321Parser;
use smtp_proto::{MAIL_BODY_8BITMIME, MAIL_BODY_BINARYMIME, MAIL_SMTPUTF8};

use super::error::CommandError;
use crate::envelope::Content;

/// The offered extensions that affect the grammar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferedExtensions {
    /// `AUTH`, and with it the parameter of `MAIL`.
    pub auth: bool,
}

/// The parameters of `MAIL`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters {
    /// `SIZE=`, in bytes.
    pub size: Option<u64>,
    /// `BODY=`.
    pub content: Content,
    /// `SMTPUTF8`.
    pub is_utf8: bool,
}

/// Most digits of a size (RFC 1870, 4).
const LONGEST_SIZE: usize = 20;

/// Keywords; each has a bit that records whether it was seen.
const KEYWORDS: [&str; 4] = ["SIZE", "BODY", "SMTPUTF8", "AUTH"];

/// Parses the text after the path; the line ends with CRLF.
pub fn read(rest: &[u8], offers: OfferedExtensions) -> Result<Parameters, CommandError> {
    let words = rest.strip_suffix(b"\r\n").unwrap_or(rest).trim_ascii_end();
    if words.is_empty() {
        return Ok(Parameters::default());
    }
    let words = words.strip_prefix(b" ").ok_or(CommandError::Syntax)?;
    let mut seen = 0_u8;
    for word in words.split(|byte| *byte == b' ') {
        let bit = check(word, offers)?;
        if seen & bit != 0 {
            return Err(CommandError::Parameter);
        }
        seen |= bit;
    }
    let mut bytes = rest.iter();
    let read = Rfc5321Parser::new(&mut bytes).mail_from_parameters(Cow::Borrowed(""));
    let read = read.map_err(|_| CommandError::Parameter)?;
    let content = match read.flags & (MAIL_BODY_8BITMIME | MAIL_BODY_BINARYMIME) {
        0 => Content::SevenBit,
        MAIL_BODY_8BITMIME => Content::EightBit,
        _ => Content::Binary,
    };
    Ok(Parameters {
        size: (seen & 1 != 0).then_some(read.size as u64),
        content,
        is_utf8: read.flags & MAIL_SMTPUTF8 != 0,
    })
}

/// `RCPT` has no parameters here; the form of the word decides the kind of error.
pub fn refuse_any(rest: &[u8]) -> Result<(), CommandError> {
    let words = rest.strip_suffix(b"\r\n").unwrap_or(rest).trim_ascii_end();
    match words.strip_prefix(b" ") {
        None if words.is_empty() => Ok(()),
        Some([b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9', ..]) => Err(CommandError::UnknownParameter),
        _ => Err(CommandError::Syntax),
    }
}

/// The bit of the keyword, if the word is `keyword[=value]` and the keyword is offered.
fn check(word: &[u8], offers: OfferedExtensions) -> Result<u8, CommandError> {
    let equals = memchr::memchr(b'=', word);
    let (keyword, value) = match equals {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    if keyword.is_empty() || keyword[0] == b'-' || !keyword.iter().all(is_name) {
        return Err(CommandError::Syntax);
    }
    let known = KEYWORDS.iter().position(|name| keyword.eq_ignore_ascii_case(name.as_bytes()));
    let bit =
        1 << known.filter(|at| *at < 3 || offers.auth).ok_or(CommandError::UnknownParameter)?;
    let is_fit = match (known, value) {
        (Some(0), Some(size)) if is_size(size) && !is_countable(size) => {
            return Err(CommandError::Size);
        }
        (Some(0), Some(size)) => is_size(size),
        (Some(1), Some(body)) => body.iter().all(u8::is_ascii_alphanumeric),
        (Some(2), None) => true,
        (Some(3), Some(mailbox)) => mailbox == b"<>" || is_xtext(mailbox),
        _ => false,
    };
    if is_fit { Ok(bit) } else { Err(CommandError::Parameter) }
}

fn is_size(text: &[u8]) -> bool {
    (1..=LONGEST_SIZE).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// Whether the size fits into the library's number type.
fn is_countable(size: &[u8]) -> bool {
    let size = std::str::from_utf8(size).ok().and_then(|size| size.parse::<u64>().ok());
    size.is_some_and(|size| size < u64::MAX)
}

/// RFC 3461, 4: printable ASCII but `+` and `=`, or `+` and two hexadecimal digits.
fn is_xtext(mut text: &[u8]) -> bool {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    while let Some((first, rest)) = text.split_first() {
        text = match first {
            b'+' if rest.len() >= 2 && rest[..2].iter().all(is_hex) => &rest[2..],
            b'!'..=b'~' if !matches!(first, b'+' | b'=') => rest,
            _ => return false,
        };
    }
    true
}
