//! Compares stored runs: unpaired trials from different sessions.
//!
//! Drift between the runs cannot be separated from a change, and the result says so. In reading order:
//! [`differences`] says whether two runs may be compared at all; [`RatioCriterion`] is a criterion on ratios;
//! [`compare()`] compares.

mod compare;
pub mod differences;
mod ratio_criterion;

pub use compare::{StoredComparison, StoredRun, compare};
pub use ratio_criterion::{JudgedRatio, RatioCriterion};

#[cfg(test)]
mod tests;
