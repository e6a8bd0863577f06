//! Registered identities: a name, metadata, and an end.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code};

/// Longest name, in bytes.
pub const LONGEST_NAME: usize = 256;

/// Milliseconds since 1970 on the wall clock, which all coordinators of a registry share.
pub type Millis = u64;

/// One registered identity; stores keep the same type as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Unique within its namespace.
    #[serde(rename = "identity")]
    pub name: Arc<str>,
    /// Metadata for filters: a JSON object.
    pub metadata: Map<String, Value>,
    /// When it was registered, or last replaced or renewed.
    pub registered_at: Millis,
    /// When it expires; `None` for never.
    pub expires_at: Option<Millis>,
}

impl Identity {
    /// Whether it is registered at an instant: before [`Self::expires_at`], not at it.
    pub fn is_alive(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// The wall clock.
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Refuses names that are empty, too long, or hold control characters or white space.
///
/// Errors: `INVALID_IDENTITY`, without a place
pub fn check_name(name: &str) -> Result<(), ApiError> {
    let refuse = |what: String| Err(ApiError::new(Code::InvalidIdentity, what));
    if name.is_empty() {
        return refuse("identity must not be empty".into());
    }
    if name.len() > LONGEST_NAME {
        return refuse(format!(
            "identity must have at most {LONGEST_NAME} bytes (got {})",
            name.len()
        ));
    }
    match name.char_indices().find(|(_, c)| c.is_control() || c.is_whitespace() || *c == '*') {
        Some((at, c)) => refuse(format!("identity must not contain {c:?} (at byte {at})")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_visible() {
        assert_eq!(check_name("user-1/ä.b:c"), Ok(()));
        assert_eq!(check_name(&"n".repeat(LONGEST_NAME)), Ok(()));
        for bad in ["", "a b", "a\u{0}", "a\n", "user-*", &"n".repeat(LONGEST_NAME + 1)] {
            assert_eq!(check_name(bad).unwrap_err().code, Code::InvalidIdentity, "{bad:?}");
        }
    }

    #[test]
    fn life_ends_at_the_stated_instant() {
        let mortal = Identity {
            name: "a".into(),
            metadata: Map::new(),
            registered_at: 0,
            expires_at: Some(1_000),
        };
        assert!(mortal.is_alive(999));
        assert!(!mortal.is_alive(1_000));
    }
}
