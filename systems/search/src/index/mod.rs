//! Vector to rows: the nearest by cosine, among those that a filter admits.

pub mod local;
pub mod remote;

use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::parts::packed;

/// Keeps vectors, and finds the nearest. Writes are acknowledged when they are where the index promises them to be:
/// on the disk if it has a folder.
pub trait Index: Send + Sync + 'static {
    /// The nearest rows.
    ///
    /// Errors: a vector or filter that does not fit; `Unavailable` where the index is another process
    fn search(&self, query: Query) -> impl Future<Output = Result<Found, ApiError>> + Send;

    /// Forgets, inserts or replaces, and deletes, in this order, as one: all of it is found afterwards, or nothing.
    ///
    /// Errors: a vector that does not fit; the disk; `Unavailable` where the index is another process
    fn write(&self, batch: Batch) -> impl Future<Output = Result<Written, ApiError>> + Send;

    /// Writes what there is to the disk, so that the next start is quick.
    ///
    /// Shape:  → what was written, for people
    /// Errors: no folder; the disk
    fn snapshot(&self) -> impl Future<Output = Result<Value, ApiError>> + Send;

    /// How much there is.
    ///
    /// Errors: `Unavailable` where the index is another process that does not answer
    fn status(&self) -> impl Future<Output = Result<Status, ApiError>> + Send;

    /// The configuration in force, for the ready line, with what was loaded and why anything was refused.
    fn effective(&self) -> Value;
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// Where, of length 1.
    #[serde(with = "packed")]
    pub vector: Vec<f32>,
    /// How many at most.
    pub k: usize,
    /// Which rows are admitted, as the filter's JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Value>,
    /// Whether every admitted row is compared, at any cost.
    #[serde(default)]
    pub exact: bool,
    /// Look only among rows that were written up to this write, and are still there. Exact searches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The nearest first; rows equally near by their names.
    pub nearest: Vec<Near>,
    /// How many rows there are.
    pub size: u64,
    /// Number of the last write that this answer saw.
    pub sequence: u64,
    /// Whether every admitted row was compared.
    pub exact: bool,
}

/// A row and how near it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Near {
    /// Its name.
    pub id: Arc<str>,
    /// Cosine of the angle, in \[−1, 1\].
    pub score: f32,
    /// In which write it came as it was found.
    #[serde(default)]
    pub born: u64,
}

/// Some changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Whether everything is forgotten first.
    #[serde(default)]
    pub drop: bool,
    /// Rows to insert, or to put in the place of those of their names.
    #[serde(default)]
    pub rows: Vec<Entry>,
    /// Names of rows to delete; those that are not there are no error.
    #[serde(default)]
    pub delete: Vec<String>,
}

/// A row as the index knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// Where it is; its length does not matter.
    #[serde(with = "packed")]
    pub vector: Vec<f32>,
    /// What filters may ask about: the row's metadata.
    #[serde(default)]
    pub attributes: Map<String, Value>,
}

/// What became of a [`Batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// How many rows there are now.
    pub size: u64,
    /// How many of those to delete were there.
    pub deleted: u64,
    /// The number of this write; they count from 1 and survive restarts.
    pub sequence: u64,
}

/// How much an index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Rows that can be found.
    pub size: u64,
    /// Rows that were deleted or replaced and still take memory.
    pub tombstones: u64,
    /// Number of the last write.
    pub sequence: u64,
}
