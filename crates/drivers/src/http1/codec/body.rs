//! A body in any framing, decoded wherever the input happens to be cut.

use std::ops::Range;

use super::chunked::Chunked;
use super::head::Framing;
use crate::http::protocol_error::ProtocolError;

/// Decodes one body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// So many bytes to come.
    Length(u64),
    /// Chunks.
    Chunked(Chunked),
    /// Everything until the connection ends.
    UntilClose,
}

impl Body {
    /// A body in this framing.
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunked::default()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Whether the body is complete without the connection ending.
    pub fn is_done(&self) -> bool {
        match self {
            Self::Length(remaining) => *remaining == 0,
            Self::Chunked(chunked) => chunked.is_done(),
            Self::UntilClose => false,
        }
    }

    /// Whether what was read last ends a chunk; true where there are none.
    pub fn is_at_boundary(&self) -> bool {
        match self {
            Self::Chunked(chunked) => chunked.is_at_boundary(),
            Self::Length(_) | Self::UntilClose => true,
        }
    }

    /// Whether the body is complete if the connection ends here.
    pub fn may_end(&self) -> bool {
        matches!(self, Self::UntilClose) || self.is_done()
    }

    /// Reads up to the end of the next stretch of data, of the body, or of the input.
    ///
    /// Shape:  → bytes consumed, and where among them the data stands (empty: none)
    /// Errors: the first byte that breaks the framing
    /// Cost:   O(n) time, no allocation
    pub fn decode(&mut self, input: &[u8]) -> Result<(usize, Range<usize>), ProtocolError> {
        match self {
            Self::Length(remaining) => {
                let length = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
                *remaining -= length as u64;
                Ok((length, 0..length))
            }
            Self::Chunked(chunked) => chunked.decode(input),
            Self::UntilClose => Ok((input.len(), 0..input.len())),
        }
    }
}
