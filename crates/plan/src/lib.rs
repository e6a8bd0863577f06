//! Before a run: experiment file, plan, schedule of arrivals.
//!
//! Pure: files only through a trait, no clock, no entropy.

pub mod criterion;
pub mod diagnostic;
pub mod document;
pub mod load;
pub mod mix;
pub mod operation;
pub mod plan;
pub mod process;
pub mod rows;
pub mod schedule;
pub mod target;
pub mod template;
pub mod units;
