//! Stored runs held against each other: trials without blocks, of another day.
//!
//! What drifted between the runs cannot be told from what changed, and the result says so. In reading
//! order: [`likeness`] whether two runs may be compared at all; [`Bound`] a criterion on ratios;
//! [`compare`] does it.

mod bound;
pub mod likeness;
mod sides;

pub use bound::{Bound, Judged};
pub use sides::{Side, StoredComparison, compare};

#[cfg(test)]
mod tests;
