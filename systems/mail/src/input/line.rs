//! Splits command lines: limited in length, and ended by CRLF alone.

/// The next line of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line is not complete; nothing is consumed, and the next call gets these bytes again with more after them.
    Incomplete,
    /// A line with its CRLF.
    Whole(&'a [u8]),
    /// The line is longer than allowed.
    TooLong,
    /// A line feed without its carriage return.
    BareLineFeed,
}

/// The first line of the input; `limit` is the most octets with its CRLF.
pub fn first(input: &[u8], limit: usize) -> Line<'_> {
    match memchr::memchr(b'\n', input) {
        Some(end) if end == 0 || input[end - 1] != b'\r' => Line::BareLineFeed,
        Some(end) if end < limit => Line::Whole(&input[..=end]),
        Some(_) => Line::TooLong,
        None if input.len() >= limit => Line::TooLong,
        None => Line::Incomplete,
    }
}

/// The state while the rest of a line that is too long is discarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    has_return: bool,
}

/// The result of skipping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// All of the input belongs to the line, which continues.
    All,
    /// The line ended after this many bytes.
    Ended(usize),
    /// A line feed without its carriage return.
    BareLineFeed,
}

impl Rest {
    /// Discards input up to the end of the line.
    pub fn skip(&mut self, input: &[u8]) -> Skipped {
        let Some(end) = memchr::memchr(b'\n', input) else {
            self.has_return = input.last().map_or(self.has_return, |last| *last == b'\r');
            return Skipped::All;
        };
        let has_return = if end == 0 { self.has_return } else { input[end - 1] == b'\r' };
        if has_return { Skipped::Ended(end + 1) } else { Skipped::BareLineFeed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_crlf_within_its_limit() {
        for (input, limit, expect) in [
            (&b""[..], 512, Line::Incomplete),
            (b"NOOP\r", 512, Line::Incomplete),
            (b"NOOP\r\nQUIT\r\n", 512, Line::Whole(b"NOOP\r\n")),
            (b"\r\n", 512, Line::Whole(b"\r\n")),
            (b"\n", 512, Line::BareLineFeed),
            (b"NOOP\n", 512, Line::BareLineFeed),
            (b"NO\nOP\r\n", 512, Line::BareLineFeed),
            (b"NO\rOP\r\n", 512, Line::Whole(b"NO\rOP\r\n")),
            (b"NOOP\r\n", 6, Line::Whole(b"NOOP\r\n")),
            (b"NOOP\r\n", 5, Line::TooLong),
            (b"NOOP\r", 5, Line::TooLong),
            (b"NOOP", 5, Line::Incomplete),
        ] {
            assert_eq!(first(input, limit), expect, "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn a_long_line_is_skipped_alike_at_every_split() {
        for (line, ended) in [(&b"abc\rdef\r\nNOOP"[..], Some(9)), (b"abc\ndef\r\n", None)] {
            for split in 0..=line.len() {
                let mut rest = Rest::default();
                let outcome = match rest.skip(&line[..split]) {
                    Skipped::All => match rest.skip(&line[split..]) {
                        Skipped::Ended(used) => Some(split + used),
                        Skipped::BareLineFeed => None,
                        Skipped::All => panic!("the line ends"),
                    },
                    Skipped::Ended(used) => Some(used),
                    Skipped::BareLineFeed => None,
                };
                assert_eq!(outcome, ended, "at {split}");
            }
        }
    }
}
