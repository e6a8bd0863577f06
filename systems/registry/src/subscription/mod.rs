//! Subscriptions and the identities that they serve.
//!
//! A subscription serves one identity (`user-7`) or all whose name has a prefix (`user-*`, `*`).
//! The most specific one serves an identity: the exact name before the longest prefix; among equal
//! patterns the latest. So a message reaches each identity once. A named subscription remains while
//! its receiver is absent: at-least-once messages are stored for it, and other messages go to
//! connected receivers.
//!
//! [`table`] finds the subscription of an identity.

use std::fmt;
use std::str::FromStr;

use crate::api_error::{ApiError, Code};
use crate::identity;

pub mod table;

/// The identities that a subscription serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// One identity.
    Name(String),
    /// All identities whose names begin with this.
    Prefix(String),
}

impl FromStr for Pattern {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        match text.strip_suffix('*') {
            Some("") => Ok(Self::Prefix(String::new())),
            Some(prefix) => identity::check_name(prefix).map(|()| Self::Prefix(prefix.to_owned())),
            None => identity::check_name(text).map(|()| Self::Name(text.to_owned())),
        }
        .map_err(|error| {
            ApiError::new(
                Code::InvalidIdentity,
                format!("{}; `*` is allowed only as the last character", error.message),
            )
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

impl Pattern {
    /// Whether it matches this identity.
    pub fn fits(&self, identity: &str) -> bool {
        match self {
            Self::Name(name) => name == identity,
            Self::Prefix(prefix) => identity.starts_with(prefix.as_str()),
        }
    }
}

/// The properties of a subscription on any bus that [`table`] needs.
pub trait Subscriber {
    /// Unique within this process, and never used again.
    fn key(&self) -> u64;

    /// Whether its receiver is present now.
    fn is_present(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_last_star_stands_for_others() {
        assert_eq!("user-*".parse(), Ok(Pattern::Prefix("user-".into())));
        assert_eq!("*".parse(), Ok(Pattern::Prefix(String::new())));
        assert_eq!("user-7".parse(), Ok(Pattern::Name("user-7".into())));
        for bad in ["", "a*b", "**", "a *"] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad:?}");
        }
    }
}
