//! The codes of the search service's errors.

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

impl serving::api_error::Code for Code {
    const INVALID: Self = Self::InvalidRequest;
    const TOO_LARGE: Self = Self::TooLarge;
    const UNAVAILABLE: Self = Self::Unavailable;

    fn status(self) -> u16 {
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
pub type ApiError = serving::api_error::ApiError<Code>;
