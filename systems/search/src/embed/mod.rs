//! Text to vector.

use std::future::Future;

use serde_json::Value;

use crate::fault::Fault;

/// Turns texts into vectors. The same text gives the same vector in every process that was given the same settings.
pub trait Embed: Send + Sync + 'static {
    /// Length of every vector.
    fn dimension(&self) -> usize;

    /// Embeds some texts.
    ///
    /// Shape:  n texts → n vectors of [`Self::dimension`] numbers, each of length 1
    /// Errors: a text that gives no direction (nothing in it but spaces and marks), with its number as place (`/0`);
    ///         `Unavailable` where the embedder is another process
    fn embed(&self, texts: &[&str]) -> impl Future<Output = Result<Embedded, Fault>> + Send;

    /// The configuration in force, for the ready line.
    fn effective(&self) -> Value;
}

/// Vectors, and how many of them needed no work.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// One for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// How many of the texts the cache knew.
    pub hits: u64,
}
