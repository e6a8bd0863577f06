//! Tests joined by and, or, not.

use serde_json::{Map, Value};

use crate::path::Path;
use crate::test::Test;

/// A filter that is evaluated. Its depth is bounded where it is read.
#[derive(Debug)]
pub enum Node {
    /// All of these; an empty list matches every document.
    All(Vec<Node>),
    /// At least one of these.
    Any(Vec<Node>),
    /// Not this.
    Not(Box<Node>),
    /// One field's test.
    Field(Path, Test),
}

impl Node {
    /// Whether metadata are matched.
    pub fn matches(&self, metadata: &Map<String, Value>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(metadata)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(metadata)),
            Self::Not(part) => !part.matches(metadata),
            Self::Field(path, test) => test.holds(path.find(metadata)),
        }
    }

    /// Each of these; one alone stands for itself.
    pub fn all(mut parts: Vec<Self>) -> Self {
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                parts.extend(last);
                Self::All(parts)
            }
        }
    }
}
