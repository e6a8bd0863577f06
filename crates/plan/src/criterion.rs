//! Criteria: what the result is held against.

/// One criterion.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Criterion {
    /// As written.
    pub text: String,
}
