//! What a target says of its own time.

use serde::{Deserialize, Serialize};

/// A part of the target that said in each answer how long it took: the span of this name is its own word.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// The name of its span.
    pub name: String,
    /// The part that it lies inside of, whose time holds its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}
