//! Stored runs held against each other: trials without blocks, of another day.
//!
//! What drifted between the runs cannot be told from what changed, and the result says so. In reading
//! order: [`differences`] whether two runs may be compared at all; [`RatioCriterion`] a criterion on ratios;
//! [`compare()`] does it.

mod compare;
pub mod differences;
mod ratio_criterion;

pub use compare::{StoredComparison, StoredRun, compare};
pub use ratio_criterion::{JudgedRatio, RatioCriterion};

#[cfg(test)]
mod tests;
