//! Rows of data for templates.

/// A table of data.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Rows {
    /// Where it came from.
    pub file: String,
}
