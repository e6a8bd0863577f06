//! Why there is no reply that can be used.

use engine::transport::failure_kind;
use record::{FailureKind, Status};

use super::codec::reply::ReplyError;
use super::codec::text;

/// What failed, and what is left of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
    /// The name of the error with which the server refused, if it did.
    pub status: Status,
}

impl Failure {
    /// A failure without a status.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), status: Status::None }
    }

    /// The server's refusal: a complete reply that is an error.
    pub fn refusal(reply: &[u8]) -> Self {
        let (word, line) = text::error(reply);
        Self { kind: FailureKind::Status, detail: line, status: Status::named(&word) }
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(failure_kind(&error), format!("the connection failed: {error}"))
    }
}
