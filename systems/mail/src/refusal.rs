//! A negative reply.

use std::borrow::Cow;
use std::fmt;

/// A reply of 4yz or 5yz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Three digits; 4yz means that a later attempt may succeed, 5yz that it will not.
    pub code: u16,
    /// Enhanced status (RFC 3463): class, subject, detail.
    pub status: (u8, u8, u8),
    /// One line of printable ASCII.
    pub text: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with this text.
    pub const fn new(code: u16, status: (u8, u8, u8), text: &'static str) -> Self {
        Self { code, status, text: Cow::Borrowed(text) }
    }

    /// Whether a later attempt may succeed.
    pub fn is_transient(&self) -> bool {
        self.code < 500
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, subject, detail) = self.status;
        write!(formatter, "{} {class}.{subject}.{detail} {}", self.code, self.text)
    }
}

impl std::error::Error for Refusal {}
