//! The codes of the registry's errors.

use std::time::Duration;

use filtering::FilterError;
use serde::Serialize;

/// The closed set of codes; each has one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The body is not JSON, or does not have the operation's form.
    InvalidRequest,
    /// An identity's name is empty, too long, or has invalid characters.
    InvalidIdentity,
    /// Metadata that violates the namespace's schema, or is too large.
    InvalidMetadata,
    /// A filter that is invalid, too deep or too wide.
    InvalidFilter,
    /// A schema that is invalid or contradicts itself.
    InvalidSchema,
    /// A cursor that does not belong to this filter and order.
    InvalidCursor,
    /// The identity is registered and `replace` was not asked for.
    AlreadyExists,
    /// The identity is not registered.
    NotFound,
    /// Nothing was ever registered in the namespace.
    UnknownNamespace,
    /// No token, or a token for other namespaces.
    Unauthorized,
    /// The namespace is full, or the sender exceeds a limit.
    QuotaExceeded,
    /// A payload or body that exceeds the limit.
    TooLarge,
    /// The path allows other methods, or does not exist.
    NoSuchOperation,
    /// This bus does not support the operation (subscribing over HTTP with NATS).
    NotOnThisBus,
    /// A backend of the registry does not answer; try again later.
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

/// An error of the API.
pub type ApiError = serving::api_error::ApiError<Code>;

/// A backend of the registry does not answer: 503 with a retry after a second.
pub fn unavailable(message: impl Into<String>) -> ApiError {
    ApiError::unavailable(message, Duration::from_secs(1))
}

/// An invalid filter.
pub fn invalid_filter(error: FilterError) -> ApiError {
    ApiError::new(Code::InvalidFilter, error.message).at(error.at)
}
