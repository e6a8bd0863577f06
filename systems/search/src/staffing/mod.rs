//! Rows of a staffing agency, and queries for them, made from a seed.
//!
//! A row is the same for its seed and number, however many there are.

mod queries;
mod words;

use std::ops::Range;

use crate::row::Row;

pub use queries::{Planted, free, queries};

/// Most rows.
pub const MOST: u64 = 1_000_000;

/// Row of a number.
///
/// Shape: 17 → `w-0000017`, its text rendered from the metadata by [`crate::row::text_of`]
pub fn row(seed: u64, number: u64) -> Row {
    words::row(seed, number)
}

/// Rows of some numbers, in order.
pub fn rows(seed: u64, numbers: Range<u64>) -> impl Iterator<Item = Row> {
    numbers.map(move |number| row(seed, number))
}
