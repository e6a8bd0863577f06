//! Replies (RFC 5321 section 4.2): one line or several, all with the same three digits.

use record::FailureKind;

/// Longest reply, all of its lines together. Eight of the longest lines that a server may send are 4 KiB.
pub const REPLY_LIMIT: usize = 64 * 1024;

/// A complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Its three digits.
    pub code: u16,
    /// Its bytes, the last line break included.
    pub length: usize,
}

/// What a reply says of the command that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// 2yz: done.
    Done,
    /// 3yz: go on.
    GoOn,
    /// 4yz: not now.
    Transient,
    /// 5yz: not at all.
    Permanent,
}

/// What breaks the rules in a reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// A line that does not begin as one must.
    #[error("not a reply of SMTP: {0}")]
    Form(String),
    /// A line that ends with a line feed alone.
    #[error("a line of the reply ends without a carriage return: {0}")]
    LineEnd(String),
    /// Lines of one reply with different codes.
    #[error("one reply of two codes, {0} and {1}")]
    Codes(u16, u16),
    /// More bytes than any reply needs.
    #[error("the reply is longer than {REPLY_LIMIT} bytes")]
    TooLong,
}

impl ReplyError {
    /// What kind of failure it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::TooLong => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        }
    }
}

impl Reply {
    /// By its first digit.
    pub fn class(self) -> Class {
        match self.code / 100 {
            2 => Class::Done,
            3 => Class::GoOn,
            4 => Class::Transient,
            _ => Class::Permanent,
        }
    }
}

/// The reply at the beginning of these bytes, if it is complete.
///
/// Errors: the first rule that it breaks, as soon as that can be seen
/// Cost:   O(n), no allocation
pub fn parse(bytes: &[u8]) -> Result<Option<Reply>, ReplyError> {
    let (mut at, mut code) = (0, None);
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[at..=at + length];
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err(ReplyError::LineEnd(shown(line)));
        };
        at += length + 1;
        let Some((found, is_last)) = first(line) else { return Err(ReplyError::Form(shown(line))) };
        match code {
            Some(known) if known != found => return Err(ReplyError::Codes(known, found)),
            _ => code = Some(found),
        }
        if is_last {
            return Ok(Some(Reply { code: found, length: at }));
        }
    }
    let rest = &bytes[at..];
    if !may_begin(rest) {
        return Err(ReplyError::Form(shown(rest)));
    }
    if bytes.len() >= REPLY_LIMIT { Err(ReplyError::TooLong) } else { Ok(None) }
}

/// Code of a line without its end, and whether it is the last of its reply.
fn first(line: &[u8]) -> Option<(u16, bool)> {
    if line.len() < 3 || !may_begin(line) {
        return None;
    }
    let code = line[..3].iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    Some((code, line.get(3) != Some(&b'-')))
}

/// Whether a line of a reply may begin like this.
fn may_begin(line: &[u8]) -> bool {
    let rules: [fn(&u8) -> bool; 4] = [
        |byte| matches!(byte, b'2'..=b'5'),
        |byte| matches!(byte, b'0'..=b'5'),
        u8::is_ascii_digit,
        |byte| matches!(byte, b' ' | b'-' | b'\r'),
    ];
    line.iter().zip(rules).all(|(byte, holds)| holds(byte))
}

/// The enhanced code (RFC 3463) at the beginning of a reply: class, subject, detail.
pub fn enhanced(reply: &[u8]) -> Option<(u16, u16, u16)> {
    let text = std::str::from_utf8(reply.get(4..)?).ok()?;
    let word = text.split([' ', '\r']).next()?;
    let mut numbers = word.split('.').map(|digits| {
        let is_number =
            (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|_| is_number)
    });
    let (class, subject, detail) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (numbers.next().is_none() && matches!(class, 2 | 4 | 5)).then_some((class, subject, detail))
}

/// Its beginning, for messages.
pub fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 200;
    let text = bytes[..bytes.len().min(MOST)].trim_ascii_end();
    let more = if bytes.len() > MOST { " …" } else { "" };
    format!("{}{more}", text.escape_ascii())
}
