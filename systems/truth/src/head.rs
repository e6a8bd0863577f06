//! Request heads: as little of HTTP/1.1 as a target on the hot path needs.

/// The state of a head that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// The end of the head is missing.
    Partial,
    /// A whole head.
    Whole(Head<'a>),
    /// An invalid or unsupported request: the status to reject it with.
    Refused(u16),
}

/// A request head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head<'a> {
    /// Bytes up to and including the empty line.
    pub bytes: usize,
    /// The method.
    pub method: &'a [u8],
    /// The path, without query.
    pub path: &'a [u8],
    /// What follows the question mark, if anything.
    pub query: &'a [u8],
    /// Bytes of body that follow.
    pub body_bytes: u64,
    /// Whether the client may ask again on this connection. HTTP/1.0 never does here.
    pub keep_alive: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Reads a head off the beginning of `bytes`.
///
/// Shape:  `searched` bytes at the beginning are known to hold no empty line
/// Cost:   O(length), no allocation
/// Source: RFC 9112, sections 2 to 6, the part that framing depends on
pub fn parse(bytes: &[u8], searched: usize) -> Parsed<'_> {
    let from = searched.saturating_sub(3);
    let Some(end) = bytes[from..].windows(4).position(|four| four == b"\r\n\r\n") else {
        return Parsed::Partial;
    };
    let end = from + end;
    let mut lines = Lines { rest: &bytes[..end] };
    let first = lines.next().unwrap_or_default();
    let Some((method, target, version)) = split_request_line(first) else {
        return Parsed::Refused(400);
    };
    let keep_alive = match version {
        b"HTTP/1.1" => true,
        b"HTTP/1.0" => false,
        _ => return Parsed::Refused(505),
    };
    let (path, query) = split_at(target, b'?').unwrap_or((target, b""));
    let mut head = Head {
        bytes: end + 4,
        method,
        path,
        query,
        body_bytes: 0,
        keep_alive,
        expects_continue: false,
    };
    match read_fields(&mut lines, &mut head) {
        Ok(()) => Parsed::Whole(head),
        Err(status) => Parsed::Refused(status),
    }
}

fn read_fields(lines: &mut Lines<'_>, head: &mut Head<'_>) -> Result<(), u16> {
    let mut length = None;
    for line in lines {
        let (name, value) = split_at(line, b':').ok_or(400_u16)?;
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            let length_here = parse_length(value).ok_or(400_u16)?;
            if length.replace(length_here).is_some_and(|earlier| earlier != length_here) {
                return Err(400);
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // Not implemented, and never to be guessed past: the framing would be lost.
            return Err(501);
        } else if name.eq_ignore_ascii_case(b"connection") {
            let closes = |word: &[u8]| word.trim_ascii().eq_ignore_ascii_case(b"close");
            head.keep_alive &= !value.split(|byte| *byte == b',').any(closes);
        } else if name.eq_ignore_ascii_case(b"expect") {
            head.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
        }
    }
    head.body_bytes = length.unwrap_or(0);
    Ok(())
}

/// Digits only, at most 18 of them.
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(value.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

fn split_request_line(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (method, rest) = split_at(line, b' ')?;
    let (target, version) = split_at(rest, b' ')?;
    (!method.is_empty() && !target.is_empty()).then_some((method, target, version))
}

fn split_at(bytes: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == mark)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// Lines between CRLFs.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.windows(2).position(|two| two == b"\r\n");
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 2..]),
            None => (self.rest, &b""[..]),
        };
        self.rest = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &[u8] = b"POST /truth/report?rate=5 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\
                          Expect: 100-continue\r\nConnection: te, Close\r\n\r\nbody";

    fn whole(bytes: &[u8]) -> Head<'_> {
        match parse(bytes, 0) {
            Parsed::Whole(head) => head,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_head_is_read_once_its_end_is_there() {
        let head = whole(POST);
        assert_eq!(head.bytes, POST.len() - 4);
        assert_eq!((head.method, head.path), (&b"POST"[..], &b"/truth/report"[..]));
        assert_eq!((head.query, head.body_bytes), (&b"rate=5"[..], 12));
        assert!(head.expects_continue && !head.keep_alive);
    }

    #[test]
    fn it_does_not_matter_where_the_head_was_split() {
        let end = POST.len() - 4;
        for split in 0..end {
            assert_eq!(parse(&POST[..split], 0), Parsed::Partial, "at {split}");
            assert_eq!(parse(POST, split), Parsed::Whole(whole(POST)), "at {split}");
        }
    }

    #[test]
    fn a_bare_request_is_kept_alive_and_an_old_one_is_not() {
        let head = whole(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!((head.body_bytes, head.keep_alive, head.query), (0, true, &b""[..]));
        assert!(!whole(b"GET / HTTP/1.0\r\n\r\n").keep_alive);
    }

    #[test]
    fn what_would_break_the_framing_is_refused() {
        for (bytes, status) in [
            (&b"GET /\r\n\r\n"[..], 400),
            (b"\r\n\r\n", 400),
            (b"GET / HTTP/2.0\r\n\r\n", 505),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\ncontent-length: 9999999999999999999\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 501),
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(parse(bytes, 0), Parsed::Refused(status), "{text}");
        }
    }
}
