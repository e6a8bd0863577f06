//! Before a run: experiment file, plan, schedule of arrivals.
//!
//! Pure: files only through a trait, no clock, no entropy.

// The file and what is wrong with it.
pub mod diagnostic;
pub mod document;
pub mod units;
// What it says.
pub mod criterion;
pub mod load;
pub mod operation;
pub mod plan;
pub mod process;
pub mod rows;
pub mod target;
pub mod template;
// What follows from it and a seed.
pub mod hash;
mod intensity;
pub mod mix;
pub mod nonce;
pub mod randomness;
pub mod schedule;
