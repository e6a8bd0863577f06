//! The chunked transfer coding, decoded wherever the input happens to be cut.
//!
//! Source: RFC 9112 section 7.1

use std::ops::Range;

use crate::http::field::{is_text, is_token};
use crate::http::protocol_error::ProtocolError;

/// Bytes of chunk extensions in one body, at most (hyper: the same).
pub const EXTENSIONS_LIMIT: usize = 16 * 1024;
/// Bytes of trailers, at most.
pub const TRAILERS_LIMIT: usize = 64 * 1024;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the first digit of a size.
    SizeFirst,
    /// At a later digit of a size.
    Size,
    /// In blanks after the size, which no other digit may follow.
    Blank,
    /// In an extension.
    Extension,
    /// At the LF of the size line.
    SizeLf,
    /// In the data.
    Data,
    /// At the CR after the data.
    DataCr,
    /// At the LF after the data.
    DataLf,
    /// At the beginning of a trailer line, or of the last line.
    TrailerFirst,
    /// Within the name of a trailer.
    TrailerName,
    /// Within the value of a trailer.
    TrailerValue,
    /// At the LF of a trailer line.
    TrailerLf,
    /// At the LF of the last line.
    LastLf,
    /// After the last line.
    Done,
}

/// Decodes one chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunked {
    state: State,
    /// Size read so far, then bytes of data still to come.
    remaining: u64,
    extensions: usize,
    trailers: usize,
}

impl Default for Chunked {
    fn default() -> Self {
        Self { state: State::SizeFirst, remaining: 0, extensions: 0, trailers: 0 }
    }
}

impl Chunked {
    /// Whether the last line was read.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the data that was read last ends a chunk.
    pub fn is_at_boundary(&self) -> bool {
        self.state != State::Data
    }

    /// Reads up to the end of the next stretch of data, of the body, or of the input.
    ///
    /// Shape:  → bytes consumed, and where among them the data stands (empty: none)
    /// Errors: the first byte that breaks the coding
    /// Cost:   O(n) time, no allocation
    pub fn decode(&mut self, input: &[u8]) -> Result<(usize, Range<usize>), ProtocolError> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Data {
                let rest = input.len() - at;
                let length = usize::try_from(self.remaining).map_or(rest, |left| left.min(rest));
                self.remaining -= length as u64;
                if self.remaining == 0 {
                    self.state = State::DataCr;
                }
                return Ok((at + length, at..at + length));
            }
            self.state = self.step(input[at])?;
            at += 1;
        }
        Ok((at, at..at))
    }

    fn step(&mut self, byte: u8) -> Result<State, ProtocolError> {
        match self.state {
            State::SizeFirst => self.digit(byte),
            State::Size => match byte {
                b'\r' => Ok(State::SizeLf),
                b' ' | b'\t' => self.extension(State::Blank),
                b';' => self.extension(State::Extension),
                _ => self.digit(byte),
            },
            State::Blank => match byte {
                b'\r' => Ok(State::SizeLf),
                b' ' | b'\t' => self.extension(State::Blank),
                b';' => self.extension(State::Extension),
                _ => Err(ProtocolError::ChunkSize(byte)),
            },
            State::Extension => match byte {
                b'\r' => Ok(State::SizeLf),
                b'\n' => Err(ProtocolError::ChunkEnd(byte)),
                _ => self.extension(State::Extension),
            },
            State::SizeLf => {
                let next = if self.remaining == 0 { State::TrailerFirst } else { State::Data };
                expect(byte, b'\n', next)
            }
            State::DataCr => expect(byte, b'\r', State::DataLf),
            State::DataLf => expect(byte, b'\n', State::SizeFirst),
            State::TrailerFirst if byte == b'\r' => Ok(State::LastLf),
            State::TrailerFirst | State::TrailerName | State::TrailerValue => self.trailer(byte),
            State::TrailerLf => expect(byte, b'\n', State::TrailerFirst),
            State::LastLf => expect(byte, b'\n', State::Done),
            State::Data | State::Done => Ok(self.state),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<State, ProtocolError> {
        let digit = char::from(byte).to_digit(16).ok_or(ProtocolError::ChunkSize(byte))?;
        self.remaining = self
            .remaining
            .checked_mul(16)
            .and_then(|size| size.checked_add(u64::from(digit)))
            .ok_or(ProtocolError::ChunkOverflow)?;
        Ok(State::Size)
    }

    fn extension(&mut self, next: State) -> Result<State, ProtocolError> {
        self.extensions += 1;
        if self.extensions > EXTENSIONS_LIMIT {
            return Err(ProtocolError::ExtensionsTooLong(EXTENSIONS_LIMIT));
        }
        Ok(next)
    }

    /// Trailers are checked, counted and skipped: nothing here needs them.
    fn trailer(&mut self, byte: u8) -> Result<State, ProtocolError> {
        self.trailers += 1;
        if self.trailers > TRAILERS_LIMIT {
            return Err(ProtocolError::TrailersTooLong(TRAILERS_LIMIT));
        }
        match (self.state, byte) {
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, byte) if is_text(byte) => Ok(State::TrailerValue),
            (State::TrailerFirst | State::TrailerName, byte) if is_token(byte) => {
                Ok(State::TrailerName)
            }
            _ => Err(ProtocolError::Trailer(byte)),
        }
    }
}

fn expect(byte: u8, wanted: u8, next: State) -> Result<State, ProtocolError> {
    if byte == wanted { Ok(next) } else { Err(ProtocolError::ChunkEnd(byte)) }
}
