//! Texts of an experiment file: templates, in which two braces begin a placeholder.

use std::fmt;

/// A text as it stands in the file.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(String);

impl Text {
    /// A text of the source that means itself.
    pub fn literal(text: &str) -> Self {
        Self(text.replace("{{", "{{{{"))
    }

    /// A text that already is a template, such as `{{login.token}}`.
    pub fn template(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it stands in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}
