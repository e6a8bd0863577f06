//! Text to vector: [`hashed`] by its words and their pieces, or by a [`model`] from a folder;
//! [`local`] chooses, and [`cache`] wraps either.

pub mod cache;
pub mod hashed;
pub mod local;
pub mod model;
pub mod words;

use std::future::Future;

use serde_json::Value;

use crate::api_error::{ApiError, Code};

pub mod remote;

/// Turns texts into vectors. The same text gives the same vector in every process that was given the same settings.
pub trait Embed: Send + Sync + 'static {
    /// Length of every vector.
    fn dimension(&self) -> usize;

    /// Embeds some texts.
    ///
    /// Shape:  n texts → n vectors of [`Self::dimension`] numbers, each of length 1
    /// Errors: a text that gives no direction (nothing in it but spaces and marks), with its number as place (`/0`);
    ///         `Unavailable` where the embedder is another process
    fn embed(&self, texts: &[&str]) -> impl Future<Output = Result<Embedded, ApiError>> + Send;

    /// Whether it would answer.
    ///
    /// Errors: `Unavailable` where the embedder is another process that does not
    fn ready(&self) -> impl Future<Output = Result<(), ApiError>> + Send {
        async { Ok(()) }
    }

    /// The configuration in force, for the ready line.
    fn effective(&self) -> Value;
}

/// A text that is embedded to see which embedding it is.
pub(crate) const PROBE: &str = "forklift driver in Turin, night shift, certificate 7";

/// An embedding's identity: a checksum of one vector, the same in every process and different for
/// other settings.
///
/// Errors: `Unavailable` where the embedder is another process
pub(crate) async fn identity(embed: &impl Embed) -> Result<u32, ApiError> {
    let embedded = match embed.embed(&[PROBE]).await {
        Err(error) if error.code == Code::Unavailable => return Err(error),
        embedded => embedded.map(|embedded| embedded.vectors).unwrap_or_default(),
    };
    let mut sum = crc32fast::Hasher::new();
    embedded.iter().flatten().for_each(|number| sum.update(&number.to_le_bytes()));
    Ok(sum.finalize())
}

/// Vectors, and how many of them needed no work.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// One for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// How many of the texts the cache knew.
    pub hits: u64,
}

/// Makes a vector one of length 1, in place.
///
/// Shape: → whether it has a direction; if not, it is unchanged
pub fn normalize(vector: &mut [f32]) -> bool {
    let length = length(vector);
    let has_direction = is_length(length);
    if has_direction {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
    has_direction
}

/// Whether a vector can be made one of length 1: its numbers are finite, and not all of them as good as 0.
pub fn has_direction(vector: &[f32]) -> bool {
    is_length(length(vector))
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

fn is_length(length: f64) -> bool {
    length.is_finite() && length >= f64::from(f32::MIN_POSITIVE)
}

/// Cosine of the angle between two vectors of length 1.
pub fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let sum: f64 = one.iter().zip(other).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    (sum as f32).clamp(-1.0, 1.0)
}

/// A text, by its number, in which there is nothing to go by.
fn no_direction(number: usize) -> ApiError {
    let message = "the text contains no word";
    ApiError::new(Code::InvalidQuery, message).at(format!("/{number}"))
}

#[cfg(test)]
mod tests;
