//! Errors of requests as clients get them: a code, a sentence, and the place.

use std::fmt;
use std::time::Duration;

use filtering::Refusal;
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

impl Code {
    /// The HTTP status that goes with it.
    pub fn status(self) -> u16 {
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
///
/// As JSON: `{"code":"INVALID_FILTER","message":"…","at":"/filter/$or/1"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApiError {
    /// Which kind of thing.
    pub code: Code,
    /// What is wrong and what was expected, in a sentence.
    pub message: String,
    /// Where in the request, as a JSON pointer (RFC 6901); absent where no place can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
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

    /// A part behind the registry is away: 503, worth another try after a second.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { retry_after: Some(Duration::from_secs(1)), ..Self::new(Code::Unavailable, message) }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::InvalidFilter, refusal.message).at(refusal.at)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ApiError {}
