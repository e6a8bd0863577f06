//! What can be wrong with the bytes of an answer.

use record::FailureKind;

/// A way in which an answer breaks RFC 9112 or a limit of this instrument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The status line or a header field cannot be parsed.
    #[error("the head of the answer is not HTTP/1: {0}")]
    Head(httparse::Error),
    /// A status below 100.
    #[error("status {0:03}, which does not exist")]
    Status(u16),
    /// The head does not end within the limit.
    #[error("the head of the answer is longer than {0} bytes")]
    HeadTooLong(usize),
    /// More header fields than the limit.
    #[error("the answer has more than {0} header fields")]
    TooManyFields(usize),
    /// `Content-Length` is not one number.
    #[error("content-length is not one whole number: {0:?}")]
    ContentLength(String),
    /// `Transfer-Encoding` in an HTTP/1.0 answer (RFC 9112 section 6.1).
    #[error("transfer-encoding in an HTTP/1.0 answer")]
    CodedHttp10,
    /// An unexpected 101.
    #[error("unexpected 101 switching protocols")]
    Upgrade,
    /// A chunk that does not begin with its size.
    #[error("a chunk size with the byte {0:#04x}")]
    ChunkSize(u8),
    /// A chunk size of more than 64 bits.
    #[error("a chunk size of more than 64 bits")]
    ChunkOverflow,
    /// No CRLF where a chunk or a line ends.
    #[error("byte {0:#04x} where a chunk or its line must end")]
    ChunkEnd(u8),
    /// Chunk extensions beyond the limit.
    #[error("chunk extensions of more than {0} bytes")]
    ExtensionsTooLong(usize),
    /// A trailer that is no field.
    #[error("a trailer with the byte {0:#04x}")]
    Trailer(u8),
    /// Trailers beyond the limit.
    #[error("trailers of more than {0} bytes")]
    TrailersTooLong(usize),
    /// Bytes that belong to no answer.
    #[error("{0} bytes after the end of the answer")]
    Trailing(usize),
    /// An event of a stream is beyond the limit.
    #[error("an event, or a line of it, is longer than {0} bytes")]
    EventTooLong(usize),
    /// A body that must be read is beyond the limit.
    #[error("the body must be read, but is longer than {0} bytes")]
    BodyTooLong(usize),
}

impl ProtocolError {
    /// The kind of failure that it is counted under.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::HeadTooLong(_)
            | Self::TooManyFields(_)
            | Self::ExtensionsTooLong(_)
            | Self::TrailersTooLong(_)
            | Self::EventTooLong(_)
            | Self::BodyTooLong(_) => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        }
    }
}
