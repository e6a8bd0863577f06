//! All errors of a document in one API error.

use std::fmt::Write;

use crate::api_error::{ApiError, Code};

/// Errors that are listed in addition to the first.
const TOLD: usize = 9;

/// Errors, each with its place.
#[derive(Debug, Default)]
pub struct SchemaErrors(Vec<(String, String)>);

impl SchemaErrors {
    /// Adds an error.
    pub fn add(&mut self, at: &str, message: impl Into<String>) {
        self.0.push((at.to_owned(), message.into()));
    }

    /// Adds the errors of another document.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The first error, with the others in its message.
    ///
    /// Errors: with this code, if there are any errors
    pub fn result(self, code: Code) -> Result<(), ApiError> {
        let mut all = self.0.into_iter();
        let Some((at, mut message)) = all.next() else {
            return Ok(());
        };
        for (at, other) in all.by_ref().take(TOLD) {
            write!(message, "; also {at}: {other}").expect("a string takes all");
        }
        match all.count() {
            0 => {}
            more => write!(message, "; and {more} more").expect("a string takes all"),
        }
        Err(ApiError::new(code, message).at(at))
    }
}
