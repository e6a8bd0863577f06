//! Server-sent events, as the standard parses them.
//!
//! Source: WHATWG HTML, sections 9.2.5 and 9.2.6

use super::framing::append;
use crate::http::protocol_error::ProtocolError;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Finds the events of one stream.
#[derive(Debug, Default)]
pub struct Sse {
    /// The line so far.
    line: Vec<u8>,
    /// Data of the event so far, each line with a line feed.
    data: Vec<u8>,
    /// Whether a line has ended before.
    is_begun: bool,
    /// Whether the last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
}

impl Sse {
    /// Forgets the previous stream, but not its memory.
    pub fn clear(&mut self) {
        const KEPT: usize = 4 * 1024;
        for buffer in [&mut self.line, &mut self.data] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        (self.is_begun, self.after_return) = (false, false);
    }

    /// Hands over the data of each event that is complete with these bytes.
    ///
    /// Errors: a line or the data of an event is too long
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        mut on: impl FnMut(&[u8]),
    ) -> Result<(), ProtocolError> {
        if std::mem::take(&mut self.after_return) && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, mut rest) = (&bytes[..end], &bytes[end + 1..]);
            if bytes[end] == b'\r' {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            if self.line.is_empty() {
                self.end_line(line, &mut on)?;
            } else {
                append(&mut self.line, line)?;
                let whole = std::mem::take(&mut self.line);
                let ended = self.end_line(&whole, &mut on);
                self.line = whole;
                self.line.clear();
                ended?;
            }
            bytes = rest;
        }
        append(&mut self.line, bytes)
    }

    /// Whether the stream would lose an event if it ended here.
    pub fn is_within_event(&self) -> bool {
        !self.data.is_empty() || !self.line.is_empty() && !self.line.starts_with(b":")
    }

    fn end_line(&mut self, line: &[u8], on: &mut impl FnMut(&[u8])) -> Result<(), ProtocolError> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let line = if is_first { without_mark(line) } else { line };
        if line.is_empty() {
            if let Some((_, data)) = self.data.split_last() {
                on(data);
                self.data.clear();
            }
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        // Names, ids and times to reconnect mean nothing to a load: nobody reconnects.
        if field == b"data" {
            append(&mut self.data, value.strip_prefix(b" ").unwrap_or(value))?;
            append(&mut self.data, b"\n")?;
        }
        Ok(())
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}
