//! Why an operation has no answer that can be used.

use engine::transport::failure_kind;
use record::{FailureKind, Status};

use super::codec::frame::FrameError;
use super::codec::server_error;

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
    /// The name of the refusal, if it is one.
    pub status: Status,
}

impl Failure {
    /// A failure without a status.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), status: Status::None }
    }

    /// A refusal of this name.
    pub fn status(name: &str, detail: impl Into<String>) -> Self {
        Self { status: Status::named(name.as_bytes()), ..Self::new(FailureKind::Status, detail) }
    }

    /// The server's `-ERR`.
    pub fn refusal(error: &[u8]) -> Self {
        Self::status(server_error::name(error), server_error::shown(error))
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(failure_kind(&error), format!("the connection failed: {error}"))
    }
}
