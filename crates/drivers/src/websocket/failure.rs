//! Why there is no answer that can be used.

use std::io::ErrorKind;

use engine::transport::failure_kind;
use plan::printable::printable;
use record::{FailureKind, Status};
use tokio_websockets::Error;

use super::MESSAGE_LIMIT;
use crate::http::protocol_error::ProtocolError;

/// What failed, and what is left of the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
    /// The status with which the server refused the handshake, or the code with which it closed the socket.
    pub status: Status,
}

impl Failure {
    /// A failure without a status.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), status: Status::None }
    }

    /// The peer has closed the socket with this code and reason.
    pub fn closed(code: u16, reason: &str) -> Self {
        let detail = match reason {
            "" => format!("the peer closed the socket with code {code}"),
            reason => {
                let reason = printable(reason);
                format!("the peer closed the socket with code {code}: {reason}")
            }
        };
        Self { kind: FailureKind::Closed, detail, status: code.into() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(failure_kind(&error), format!("the connection failed: {error}"))
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            // The library's word for an end within a frame.
            Error::Io(error) if error.kind() == ErrorKind::Other => {
                Self::new(FailureKind::Closed, "the peer closed the connection within a frame")
            }
            Error::Io(error) => error.into(),
            Error::PayloadTooLong { .. } => {
                let detail = format!("a message is longer than {MESSAGE_LIMIT} bytes");
                Self::new(FailureKind::TooLarge, detail)
            }
            Error::AlreadyClosed => Self::new(FailureKind::Closed, "the socket is closed"),
            other => Self::new(FailureKind::Malformed, other.to_string()),
        }
    }
}
