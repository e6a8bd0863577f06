//! Which documents: a filter language over JSON, read once and evaluated often.
//!
//! A filter is a JSON object, and each of its members a condition that must hold. `FILTERS.md`
//! beside this crate's manifest is the language's description; its examples are tested (by the registry). In reading
//! order: [`value`] compares, [`path`] finds a field, [`mod@test`] is what a field is held against,
//! [`node`] joins tests, [`read`] makes all that from JSON within [`Bounds`], [`lookup`] finds
//! candidates among many documents without reading each; [`words`] is how messages name places.

pub mod lookup;
pub mod node;
pub mod path;
mod read;
pub mod test;
pub mod value;
pub mod words;

use std::sync::Arc;

use serde_json::{Map, Value};

use node::Node;
use path::Path;

/// A filter that was read and is within the bounds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Filter {
    root: Arc<Node>,
    /// The filter as JSON, by which filters are compared.
    text: Arc<str>,
    /// What it asks about, each with its place.
    fields: Arc<[(Path, String)]>,
}

/// Why a filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct FilterError {
    /// Where in the request, as a JSON pointer (RFC 6901).
    pub at: String,
    /// What is wrong and what was expected, in a sentence.
    pub message: String,
}

/// Bounds on what a filter may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How deep logical forms may be nested.
    pub depth: usize,
    /// How many clauses there may be in all.
    pub clauses: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 5, clauses: 20 }
    }
}

impl Filter {
    /// Reads a filter; `null` and `{}` match every document.
    ///
    /// Errors: what cannot be read or is beyond the bounds, with its place below `/filter`
    pub fn parse(filter: &Value, bounds: Bounds) -> Result<Self, FilterError> {
        let (root, fields) = read::read(filter, bounds)?;
        let text = if filter.is_null() { "{}".into() } else { filter.to_string().into() };
        Ok(Self { root: Arc::new(root), text, fields: fields.into() })
    }

    /// Whether metadata are matched.
    pub fn matches(&self, metadata: &Map<String, Value>) -> bool {
        self.root.matches(metadata)
    }

    /// The filter as JSON, by which filters are compared.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is evaluated.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Each field that it asks about with its place below `/filter`, in the order in which it does.
    pub fn fields(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.fields.iter().map(|(path, at)| (path, at.as_str()))
    }

    /// Whether it asks for nothing.
    pub fn is_everybody(&self) -> bool {
        matches!(&*self.root, Node::All(parts) if parts.is_empty())
    }
}

/// A filter that matches every document.
impl Default for Filter {
    fn default() -> Self {
        Self { root: Arc::new(Node::All(Vec::new())), text: "{}".into(), fields: Arc::default() }
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests;
