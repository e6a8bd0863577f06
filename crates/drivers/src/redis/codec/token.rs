//! The next token of a reply: a scalar, or the head of an aggregate.

use super::reply::{REPLY_LIMIT, ReplyError};

/// Bytes of the longest line.
const LINE_LIMIT: usize = 64 << 10;
/// Bytes of the shortest element, `_\r\n`.
const SHORTEST: usize = 3;

/// A scalar, or the head of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A line: `+`, `-`, `:`, `,`, `(` or `#`, and its content.
    Line(u8, &'a [u8]),
    /// A string with a length: `$`, `!` or `=`, and its content.
    Blob(u8, &'a [u8]),
    /// Nothing, in any of its three forms.
    Null,
    /// `*`, `~` or `>`, and how many elements follow.
    Aggregate(u8, usize),
    /// `%` or `|`, and how many keys and values follow.
    Pairs(u8, usize),
}

/// Reads the token at the start and its length; `None` if it is not complete.
///
/// Errors: the first rule that it breaks
pub(super) fn next(bytes: &[u8]) -> Result<Option<(Token<'_>, usize)>, ReplyError> {
    let Some(&mark) = bytes.first() else { return Ok(None) };
    if !b"+-:$*_#,(!=%~>|".contains(&mark) {
        return Err(ReplyError::Mark(mark));
    }
    let within = &bytes[1..bytes.len().min(LINE_LIMIT)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return if bytes.len() > LINE_LIMIT { Err(ReplyError::Long) } else { Ok(None) };
    };
    let Some(line) = within[..end].strip_suffix(b"\r") else { return Err(ReplyError::LineEnd) };
    if line.contains(&b'\r') {
        return Err(ReplyError::LineEnd);
    }
    let (line_length, token) = (end + 2, |token| Ok(Some((token, end + 2))));
    match mark {
        b'$' | b'!' | b'=' => blob(mark, line, bytes, line_length),
        b'*' | b'~' | b'>' => match count(mark, line)? {
            Some(elements) => token(Token::Aggregate(mark, elements)),
            None => token(Token::Null),
        },
        b'%' | b'|' => match count(mark, line)? {
            Some(pairs) => token(Token::Pairs(mark, 2 * pairs)),
            None => token(Token::Null),
        },
        b'_' if line.is_empty() => token(Token::Null),
        b'+' | b'-' => token(Token::Line(mark, line)),
        b'#' if matches!(line, b"t" | b"f") => token(Token::Line(mark, line)),
        b':' if is_integer(line) && number(line).is_some() => token(Token::Line(mark, line)),
        b'(' if is_integer(line) => token(Token::Line(mark, line)),
        b',' if is_double(line) => token(Token::Line(mark, line)),
        _ => Err(ReplyError::Value(mark)),
    }
}

fn blob<'a>(
    mark: u8,
    line: &[u8],
    bytes: &'a [u8],
    line_length: usize,
) -> Result<Option<(Token<'a>, usize)>, ReplyError> {
    let Some(length) = count_below(mark, line, REPLY_LIMIT)? else {
        return Ok(Some((Token::Null, line_length)));
    };
    let end = line_length + length;
    let Some(closing) = bytes.get(end..end + 2) else { return Ok(None) };
    if closing != b"\r\n" {
        return Err(ReplyError::LineEnd);
    }
    let content = &bytes[line_length..end];
    // A verbatim string begins with its kind, such as `txt:`.
    match mark {
        b'=' if content.get(3) != Some(&b':') => Err(ReplyError::Value(mark)),
        b'=' => Ok(Some((Token::Blob(mark, &content[4..]), end + 2))),
        _ => Ok(Some((Token::Blob(mark, content), end + 2))),
    }
}

fn count(mark: u8, line: &[u8]) -> Result<Option<usize>, ReplyError> {
    count_below(mark, line, REPLY_LIMIT / SHORTEST)
}

/// A length; `None` for the −1 of RESP2, which means nothing.
fn count_below(mark: u8, line: &[u8], limit: usize) -> Result<Option<usize>, ReplyError> {
    if line == b"-1" && matches!(mark, b'$' | b'*') {
        return Ok(None);
    }
    let is_count = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    let length = number(line).filter(|_| is_count).ok_or(ReplyError::Length)?;
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(Some(length)),
        _ => Err(ReplyError::Long),
    }
}

fn number(line: &[u8]) -> Option<i64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

fn is_integer(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"-").or_else(|| line.strip_prefix(b"+")).unwrap_or(line);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// `inf`, `-inf` and `nan` are doubles, too.
fn is_double(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| text.parse::<f64>().is_ok())
}
