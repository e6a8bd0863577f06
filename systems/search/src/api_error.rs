//! Errors of requests as clients get them: a code, a sentence, and the place.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The closed set of codes; each stands for one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The body is no JSON, or not of the shape that the operation takes.
    InvalidRequest,
    /// A query that is empty, too long, or both text and vector.
    InvalidQuery,
    /// A vector of another dimension, with an invalid number, or without a direction.
    InvalidVector,
    /// A filter that cannot be read, is too deep or too wide, or names a field that no row has.
    InvalidFilter,
    /// A row that cannot be taken.
    InvalidRow,
    /// Nothing is known under this name.
    NotFound,
    /// The path takes another method, or there is no such path.
    NoSuchOperation,
    /// A body beyond the limit, or more rows than fit.
    TooLarge,
    /// A part behind the gateway does not answer; worth another try later.
    Unavailable,
}

impl Code {
    /// The HTTP status that goes with it.
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidRequest
            | Self::InvalidQuery
            | Self::InvalidVector
            | Self::InvalidFilter
            | Self::InvalidRow => 400,
            Self::NotFound | Self::NoSuchOperation => 404,
            Self::TooLarge => 413,
            Self::Unavailable => 503,
        }
    }
}

/// One thing that is wrong.
///
/// As JSON: `{"code":"INVALID_VECTOR","message":"…","at":"/vector/3"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Which kind of thing.
    pub code: Code,
    /// What is wrong and what was expected, in a sentence.
    pub message: String,
    /// Where in the request, as a JSON pointer (RFC 6901); absent where no place can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// When to retry; sent in the header `retry-after`.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// An error without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at: None, retry_after: None }
    }

    /// The same at a place in the request, as a JSON pointer.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.at = Some(pointer.into());
        self
    }

    /// A part that does not answer, and after how long another try makes sense.
    pub fn unavailable(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Code::Unavailable, message) }
    }
}
