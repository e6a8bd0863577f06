//! The head of an answer: status, how the body is framed, whether the connection lives on.

use httparse::Response;

use crate::http::head::{Coding, HEAD_LIMIT, coding, with_fields};
use crate::http::protocol_error::ProtocolError;

/// What the rest of the conversation needs to know of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its length in bytes, the empty line included.
    pub length: usize,
    /// Its status code.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the peer keeps the connection open after this answer.
    pub keep_alive: bool,
    /// How the content is compressed.
    pub coding: Coding,
    /// Whether it sets a cookie.
    pub sets_cookie: bool,
}

/// How the end of a body is found (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes; 0 where there can be no body.
    Length(u64),
    /// Chunks.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// The head at the beginning of `bytes`, or `None` while it is incomplete.
///
/// Errors: the first rule that it breaks
/// Cost:   O(n) time, no allocation
/// Source: RFC 9112 sections 4, 5, 6.3, 9.3
pub fn parse(bytes: &[u8], request_was_head: bool) -> Result<Option<Head>, ProtocolError> {
    let parsed = with_fields(bytes, |length, response| {
        Fields::read(response).head(length, request_was_head)
    })?;
    match parsed {
        Some(head) => head.map(Some),
        None if bytes.len() >= HEAD_LIMIT => Err(ProtocolError::HeadTooLong(HEAD_LIMIT)),
        None => Ok(None),
    }
}

/// The fields that decide on framing, as they stand.
struct Fields {
    status: u16,
    is_http11: bool,
    /// What `Content-Length` says; a wrong one matters only where it frames the body.
    length: Result<Option<u64>, ProtocolError>,
    /// Whether the last transfer coding is `chunked`, where there is one.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
    coding: Coding,
    sets_cookie: bool,
}

impl Fields {
    fn read(response: &Response<'_, '_>) -> Self {
        let mut fields = Self {
            status: response.code.unwrap_or_default(),
            is_http11: response.version == Some(1),
            length: Ok(None),
            chunked: None,
            close: false,
            keep_alive: false,
            coding: Coding::Identity,
            sets_cookie: false,
        };
        for header in response.headers.iter() {
            fields.note(header.name.as_bytes(), header.value);
        }
        fields
    }

    /// The length of a name rules out nearly every field before any comparison.
    fn note(&mut self, name: &[u8], value: &[u8]) {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.close |= has_token(value, b"close");
                self.keep_alive |= has_token(value, b"keep-alive");
            }
            10 if name.eq_ignore_ascii_case(b"set-cookie") => self.sets_cookie = true,
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                if let Ok(before) = self.length {
                    self.length = content_length(value, before).map(Some);
                }
            }
            16 if name.eq_ignore_ascii_case(b"content-encoding") => {
                self.coding = coding(value);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let last = value.rsplit(|&byte| byte == b',').next().unwrap_or_default();
                self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
            }
            _ => {}
        }
    }

    fn head(self, length: usize, request_was_head: bool) -> Result<Head, ProtocolError> {
        match self.status {
            0..=99 => return Err(ProtocolError::Status(self.status)),
            101 => return Err(ProtocolError::Upgrade),
            _ => {}
        }
        let wants = if self.is_http11 { !self.close } else { self.keep_alive && !self.close };
        // Both framings at once may be an attempt at smuggling (RFC 9112 section 6.3): chunked
        // wins, and nothing after it is trusted.
        let ambiguous = self.chunked.is_some() && !matches!(self.length, Ok(None));
        let bodiless = request_was_head || matches!(self.status, 100..=199 | 204 | 304);
        let (status, coding, sets_cookie) = (self.status, self.coding, self.sets_cookie);
        let framing = if bodiless { Framing::Length(0) } else { self.framing()? };
        let keep_alive = wants && framing != Framing::UntilClose && !ambiguous;
        Ok(Head { length, status, framing, keep_alive, coding, sets_cookie })
    }

    fn framing(self) -> Result<Framing, ProtocolError> {
        match self.chunked {
            Some(_) if !self.is_http11 => Err(ProtocolError::CodedHttp10),
            Some(true) => Ok(Framing::Chunked),
            Some(false) => Ok(Framing::UntilClose),
            None => Ok(self.length?.map_or(Framing::UntilClose, Framing::Length)),
        }
    }
}

/// The one length that a field and those before it agree on; `5, 5` is allowed to mean 5.
///
/// Source: RFC 9112 section 6.3, rule 5
fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, ProtocolError> {
    let refuse = || ProtocolError::ContentLength(String::from_utf8_lossy(value).into_owned());
    let mut agreed = before;
    for text in value.split(|&byte| byte == b',') {
        let number = digits(text.trim_ascii()).ok_or_else(refuse)?;
        if agreed.is_some_and(|agreed| agreed != number) {
            return Err(refuse());
        }
        agreed = Some(number);
    }
    agreed.ok_or_else(refuse)
}

/// Digits only: no sign, no blank, no overflow.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|text| text.trim_ascii().eq_ignore_ascii_case(token))
}
