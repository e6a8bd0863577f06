//! Where a reply ends, found while it arrives.

use record::FailureKind;
use thiserror::Error;

use super::token::{self, Token};

/// Bytes of the longest reply.
pub const REPLY_LIMIT: usize = 16 << 20;
/// Aggregates within each other.
const NESTING_LIMIT: usize = 16;

/// A rule that a reply breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReplyError {
    /// It begins with what begins none.
    #[error("a reply begins with byte {0:#04x}, which begins no type of RESP")]
    Mark(u8),
    /// A line does not end as it must.
    #[error("a reply has a line end other than CR LF")]
    LineEnd,
    /// A length is negative, too large to be one, or no number.
    #[error("a reply has a length that is no whole number from 0 to 2^63 - 1")]
    Length,
    /// A value is none of its type.
    #[error("a reply has a value that its type `{}` does not allow", char::from(*.0))]
    Value(u8),
    /// Aggregates are nested too deep.
    #[error("a reply is nested deeper than {NESTING_LIMIT}")]
    Nesting,
    /// A message that no command asked for is part of a reply.
    #[error("a push message is part of a reply")]
    Push,
    /// It is longer than what is read.
    #[error("a reply is longer than {REPLY_LIMIT} bytes, or a line of it than 65536")]
    Long,
}

impl ReplyError {
    /// The kind of failure that it is.
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Long => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        }
    }
}

/// What a complete reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The answer to a command.
    Value,
    /// The server refuses a command.
    Error,
    /// A message that no command asked for.
    Push,
}

/// How far a reply that arrives was read, so that each byte is looked at once.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read.
    read: usize,
    /// Elements that are still due, by level.
    due: [Level; NESTING_LIMIT],
    depth: usize,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    elements: usize,
    /// Whether an element follows it in its place.
    is_attribute: bool,
}

impl Progress {
    /// Reads on in the bytes of a reply, which are those of the last call and further ones. Gives kind and length of the
    /// reply once it is complete, and is then ready for the next one.
    ///
    /// Errors: the first rule that the reply breaks
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<(Kind, usize)>, ReplyError> {
        while let Some((token, length)) = token::next(&bytes[self.read..])? {
            self.read += length;
            if self.read > REPLY_LIMIT {
                return Err(ReplyError::Long);
            }
            if self.take(token)? {
                let done = (self.kind.unwrap_or(Kind::Value), self.read);
                // Levels above the depth are not read before they are written.
                (self.read, self.depth, self.kind) = (0, 0, None);
                return Ok(Some(done));
            }
        }
        // A blob that is not complete would end beyond the limit at the latest when it is.
        if bytes.len() > REPLY_LIMIT + 2 { Err(ReplyError::Long) } else { Ok(None) }
    }

    /// Whether the reply is complete with this token.
    fn take(&mut self, token: Token<'_>) -> Result<bool, ReplyError> {
        let is_attribute = matches!(token, Token::Pairs(b'|', _));
        if matches!(token, Token::Aggregate(b'>', _)) && (self.depth > 0 || self.kind.is_some()) {
            return Err(ReplyError::Push);
        }
        if self.depth == 0 && !is_attribute {
            self.kind = Some(match token {
                Token::Aggregate(b'>', _) => Kind::Push,
                Token::Line(b'-', _) | Token::Blob(b'!', _) => Kind::Error,
                _ => Kind::Value,
            });
        }
        match token {
            Token::Aggregate(_, elements) | Token::Pairs(_, elements) if elements > 0 => {
                let level = self.due.get_mut(self.depth).ok_or(ReplyError::Nesting)?;
                *level = Level { elements, is_attribute };
                self.depth += 1;
                Ok(false)
            }
            _ if is_attribute => Ok(false),
            _ => Ok(self.complete()),
        }
    }

    /// Counts an element that is complete, and the aggregates that are complete with it.
    fn complete(&mut self) -> bool {
        while let Some(level) = self.due[..self.depth].last_mut() {
            level.elements -= 1;
            if level.elements > 0 {
                return false;
            }
            self.depth -= 1;
            if level.is_attribute {
                return false;
            }
        }
        true
    }
}
