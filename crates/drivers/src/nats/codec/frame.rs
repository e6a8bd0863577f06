//! What a server sends: control lines, and messages after some of them.

use memchr::memchr;
use record::FailureKind;
use thiserror::Error;

use super::headers;

/// Bytes of the longest message, its headers included.
pub const MESSAGE_LIMIT: usize = 16 << 20;
/// Bytes of the longest control line.
pub const LINE_LIMIT: usize = 4096;
/// Bytes of the longest `INFO`, which names every server of a cluster.
pub const INFO_LIMIT: usize = 1 << 20;
/// Every operation of a server.
const OPERATIONS: [&[u8]; 7] = [b"MSG", b"HMSG", b"PING", b"PONG", b"+OK", b"-ERR", b"INFO"];
/// Arguments of `HMSG`, which has the most.
const MOST_FIELDS: usize = 5;

/// A rule that a server breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A line begins with what is no operation.
    #[error("the server sent a line that begins with no operation of NATS")]
    Operation,
    /// A line or a message does not end as it must.
    #[error("a line or message of the server does not end with CR LF")]
    LineEnd,
    /// An operation has too few or too many arguments.
    #[error("an operation of the server has too few or too many arguments")]
    Fields,
    /// A length is no whole number.
    #[error("a message has a length that is not a whole number of 0 or more")]
    Length,
    /// Headers are longer than the message that contains them, or have another form.
    #[error("a message has headers that are not well-formed")]
    Headers,
    /// `INFO` is no JSON of the expected form.
    #[error("INFO of the server is not well-formed")]
    Info,
    /// It is longer than what is read.
    #[error(
        "a message is longer than {MESSAGE_LIMIT} bytes, or a line than {LINE_LIMIT}, INFO than {INFO_LIMIT}"
    )]
    Long,
}

impl FrameError {
    /// The kind of failure that it is.
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Long => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        }
    }
}

/// One operation of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// What the server is, as JSON.
    Info(&'a [u8]),
    /// A message for a subscription.
    Message(Message<'a>),
    /// The server wants a `PONG`.
    Ping,
    /// The answer to a `PING`.
    Pong,
    /// The answer to anything, which is not asked for.
    Ok,
    /// What the server refuses, without quotes.
    Error(&'a [u8]),
}

/// A message for a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The subject that it was published to.
    pub subject: &'a [u8],
    /// The subscription.
    pub sid: u64,
    /// Its headers with their first and last line; empty if there are none.
    pub headers: &'a [u8],
    /// The rest.
    pub payload: &'a [u8],
}

/// How far a frame that arrives was read, so that each byte is looked at once.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes that contain no line end.
    searched: usize,
    /// Bytes of the whole frame, once that is known; before that 0.
    needed: usize,
}

impl Progress {
    /// Reads on in the bytes of a frame, which are those of the last call and further ones. Gives the frame and its
    /// length once it is complete, and is then ready for the next one.
    ///
    /// Errors: the first rule that the server breaks
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(Frame<'a>, usize)>, FrameError> {
        if bytes.is_empty() || bytes.len() < self.needed {
            return Ok(None);
        }
        let Some(line) = self.line(bytes)? else { return Ok(None) };
        let (frame, length) = match head(line)? {
            Head::Alone(frame) => (frame, line.len() + 2),
            Head::Before { subject, sid, headers, total } => {
                let begin = line.len() + 2;
                let length = begin + total + 2;
                let Some(rest) = bytes.get(begin..length) else {
                    self.needed = length;
                    return Ok(None);
                };
                let Some(content) = rest.strip_suffix(b"\r\n") else {
                    return Err(FrameError::LineEnd);
                };
                let (headers, payload) = content.split_at(headers);
                if !headers.is_empty() && !headers::is_whole(headers) {
                    return Err(FrameError::Headers);
                }
                (Frame::Message(Message { subject, sid, headers, payload }), length)
            }
        };
        *self = Self::default();
        Ok(Some((frame, length)))
    }

    /// How many bytes the frame has, as far as that is known.
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// The control line without its end; `None` if it is not complete.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, FrameError> {
        let is_info = bytes.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"INFO"));
        let limit = if is_info { INFO_LIMIT } else { LINE_LIMIT };
        match memchr(b'\n', &bytes[self.searched..]) {
            Some(at) => {
                let end = self.searched + at;
                let line = bytes[..end].strip_suffix(b"\r").ok_or(FrameError::LineEnd)?;
                if line.len() > limit {
                    return Err(FrameError::Long);
                }
                // The message after it is awaited: the next search finds the same line at once.
                self.searched = end;
                Ok(Some(line))
            }
            None if !begins_operation(bytes) => Err(FrameError::Operation),
            None if bytes.len() > limit => Err(FrameError::Long),
            None => {
                self.searched = bytes.len();
                Ok(None)
            }
        }
    }
}

/// Whether these bytes may become an operation.
fn begins_operation(bytes: &[u8]) -> bool {
    OPERATIONS.iter().any(|operation| {
        let both = operation.len().min(bytes.len());
        operation[..both].eq_ignore_ascii_case(&bytes[..both])
    })
}

/// What a control line says.
enum Head<'a> {
    /// All there is.
    Alone(Frame<'a>),
    /// Bytes of headers and of all follow.
    Before { subject: &'a [u8], sid: u64, headers: usize, total: usize },
}

fn head(line: &[u8]) -> Result<Head<'_>, FrameError> {
    if line.contains(&b'\r') {
        return Err(FrameError::LineEnd);
    }
    let end = line.iter().position(|byte| is_blank(*byte)).unwrap_or(line.len());
    let (operation, rest) = line.split_at(end);
    let rest = rest.trim_ascii();
    let is = |name: &[u8]| operation.eq_ignore_ascii_case(name);
    let alone = |frame| match rest.is_empty() {
        true => Ok(Head::Alone(frame)),
        false => Err(FrameError::Fields),
    };
    if is(b"MSG") {
        message(rest, false)
    } else if is(b"HMSG") {
        message(rest, true)
    } else if is(b"PONG") {
        alone(Frame::Pong)
    } else if is(b"PING") {
        alone(Frame::Ping)
    } else if is(b"+OK") {
        alone(Frame::Ok)
    } else if is(b"-ERR") {
        let bare = rest.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'"));
        Ok(Head::Alone(Frame::Error(bare.unwrap_or(rest))))
    } else if is(b"INFO") {
        Ok(Head::Alone(Frame::Info(rest)))
    } else {
        Err(FrameError::Operation)
    }
}

/// `<subject> <sid> [reply-to] <#bytes>`, or with `<#headers> <#bytes>` at the end.
fn message(rest: &[u8], has_headers: bool) -> Result<Head<'_>, FrameError> {
    let mut fields: [&[u8]; MOST_FIELDS] = [b""; MOST_FIELDS];
    let mut count = 0;
    for field in rest.split(|byte| is_blank(*byte)).filter(|field| !field.is_empty()) {
        *fields.get_mut(count).ok_or(FrameError::Fields)? = field;
        count += 1;
    }
    let least = if has_headers { 4 } else { 3 };
    if count != least && count != least + 1 {
        return Err(FrameError::Fields);
    }
    let sid = digits(fields[1]).ok_or(FrameError::Fields)?;
    let total = length(fields[count - 1])?;
    let headers = if has_headers { length(fields[count - 2])? } else { 0 };
    match headers <= total && has_headers == (headers > 0) {
        true => Ok(Head::Before { subject: fields[0], sid, headers, total }),
        false => Err(FrameError::Headers),
    }
}

fn length(field: &[u8]) -> Result<usize, FrameError> {
    let length = digits(field).ok_or(FrameError::Length)?;
    match usize::try_from(length) {
        Ok(length) if length <= MESSAGE_LIMIT => Ok(length),
        _ => Err(FrameError::Long),
    }
}

/// A whole number, at most the greatest; `None` if it is none.
pub(in super::super) fn digits(field: &[u8]) -> Option<u64> {
    let is_number = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    is_number.then(|| field.iter().fold(0, add))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
