//! The codes of the registry's errors.

use std::time::Duration;

use filtering::FilterError;
use serde::Serialize;

/// The closed set of codes; each has one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The body is no JSON, or not of the shape that the operation takes.
    InvalidRequest,
    /// An identity's name is empty, too long, or has characters that a name may not have.
    InvalidIdentity,
    /// Metadata that the namespace's schema does not allow, or that is too large.
    InvalidMetadata,
    /// A filter that cannot be read, or is too deep or too wide.
    InvalidFilter,
    /// A schema that cannot be read or contradicts itself.
    InvalidSchema,
    /// A cursor that was not given out for this filter and order.
    InvalidCursor,
    /// The identity is registered and `replace` was not asked for.
    AlreadyExists,
    /// The identity is not registered.
    NotFound,
    /// Nothing was ever registered in this namespace.
    UnknownNamespace,
    /// No token, or one that does not open this namespace.
    Unauthorized,
    /// The namespace is full, or the sender asked for too much at a time.
    QuotaExceeded,
    /// A payload or body beyond the limit.
    TooLarge,
    /// The path takes another method, or there is no such path.
    NoSuchOperation,
    /// This bus has no such thing (a subscription over HTTP where NATS is the bus).
    NotOnThisBus,
    /// A part behind the registry does not answer; worth another try later.
    Unavailable,
}

impl serving::api_error::Code for Code {
    const INVALID: Self = Self::InvalidRequest;
    const TOO_LARGE: Self = Self::TooLarge;
    const UNAVAILABLE: Self = Self::Unavailable;

    fn status(self) -> u16 {
        match self {
            Self::InvalidRequest
            | Self::InvalidIdentity
            | Self::InvalidMetadata
            | Self::InvalidFilter
            | Self::InvalidSchema
            | Self::InvalidCursor => 400,
            Self::Unauthorized => 401,
            Self::NotFound | Self::UnknownNamespace | Self::NoSuchOperation => 404,
            Self::AlreadyExists | Self::NotOnThisBus => 409,
            Self::TooLarge => 413,
            Self::QuotaExceeded => 429,
            Self::Unavailable => 503,
        }
    }
}

/// One thing that is wrong.
pub type ApiError = serving::api_error::ApiError<Code>;

/// A part behind the registry does not answer: 503, worth another try after a second.
pub fn unavailable(message: impl Into<String>) -> ApiError {
    ApiError::unavailable(message, Duration::from_secs(1))
}

/// A filter that cannot be used.
pub fn invalid_filter(error: FilterError) -> ApiError {
    ApiError::new(Code::InvalidFilter, error.message).at(error.at)
}
