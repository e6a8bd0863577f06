//! Where events begin and end.

use super::sse::Sse;
use crate::http::protocol_error::ProtocolError;

/// Bytes of one event, or of one of its lines, at most.
pub const EVENT_LIMIT: usize = 1024 * 1024;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An event of `text/event-stream` (WHATWG HTML, section 9.2); its data.
    Sse,
    /// A line that is not empty, usually of JSON.
    Lines,
    /// A chunk of the chunked coding, or a DATA frame of HTTP/2; in other framings, what one read brought.
    Chunks,
}

/// Finds the events of one stream.
#[derive(Debug, Default)]
pub struct Framing {
    sse: Sse,
    /// The line or chunk so far.
    partial: Vec<u8>,
}

impl Framing {
    /// Forgets the previous stream, but not its memory.
    pub fn clear(&mut self) {
        self.sse.clear();
        self.partial.clear();
        self.partial.shrink_to(4 * 1024);
    }

    /// Hands over each event that is complete with these bytes.
    ///
    /// Errors: an event is too long
    /// Cost:   O(n) time; allocates only for an event longer than any before
    pub fn take(
        &mut self,
        format: Format,
        bytes: &[u8],
        ends_chunk: bool,
        mut on: impl FnMut(&[u8]),
    ) -> Result<(), ProtocolError> {
        match format {
            Format::Sse => self.sse.take(bytes, on),
            Format::Lines => self.lines(bytes, on),
            Format::Chunks => {
                append(&mut self.partial, bytes)?;
                if ends_chunk && !self.partial.is_empty() {
                    on(&self.partial);
                    self.partial.clear();
                }
                Ok(())
            }
        }
    }

    /// Hands over what the end of the stream completes.
    ///
    /// Shape:  → whether the stream ended in the middle of an event
    pub fn end(&mut self, format: Format, on: impl FnOnce(&[u8])) -> bool {
        match format {
            Format::Sse => self.sse.is_within_event(),
            Format::Chunks => !self.partial.is_empty(),
            Format::Lines => {
                let line = self.partial.trim_ascii();
                if !line.is_empty() {
                    on(line);
                }
                false
            }
        }
    }

    fn lines(&mut self, mut bytes: &[u8], mut on: impl FnMut(&[u8])) -> Result<(), ProtocolError> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            let line = if self.partial.is_empty() {
                line
            } else {
                append(&mut self.partial, line)?;
                &self.partial
            };
            let line = line.trim_ascii();
            if !line.is_empty() {
                on(line);
            }
            self.partial.clear();
            bytes = rest;
        }
        append(&mut self.partial, bytes)
    }
}

/// Appends to what there is of a line or an event.
///
/// Errors: it becomes too long
pub(super) fn append(partial: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ProtocolError> {
    if partial.len() + bytes.len() > EVENT_LIMIT {
        return Err(ProtocolError::EventTooLong(EVENT_LIMIT));
    }
    partial.extend_from_slice(bytes);
    Ok(())
}
