//! What a journey reads from an answer for its later steps.

use serde::Serialize;

use crate::diagnostic::Span;

/// A value to be read from the answers of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capture {
    /// Its name, unique within the operation.
    pub name: String,
    /// Where the value stands.
    pub source: CaptureSource,
    /// Whether all values are read, as a list, and not just the first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Whether an answer without it is fine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// What is undone in the text that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
    /// Its place among all captures of the arm.
    #[serde(skip)]
    pub place: usize,
    /// For diagnostics.
    #[serde(skip)]
    pub span: Span,
}

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureSource {
    /// A JSONPath into the body.
    Json(String),
    /// A field of the head, or what a regular expression's first group finds in it.
    Header {
        /// Its name.
        name: String,
        /// The expression.
        #[serde(skip_serializing_if = "Option::is_none")]
        matches: Option<String>,
    },
    /// The value of a cookie that the answer sets.
    Cookie(String),
    /// What a regular expression's first group, or all of it, finds in the body.
    Matches(String),
    /// The whole body.
    Body,
}

/// How a text is written where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decode {
    /// With character references of HTML (`&amp;`).
    Html,
    /// Percent-encoded.
    Url,
}
