//! Carries out the declared comparisons: which trials are compared, in which metric, and with what result.
//!
//! A trial has one value per comparison, and a block one difference. A trial that is not `valid` or `noted` leaves
//! its block out. The arithmetic is in [`stats::comparison`]; `pages` shows the result.
//!
//! In reading order: `amount` is levels that are amounts; [`metric`] is the value of a trial; `planned` is which arms
//! are compared; `blocks` is which trials; `contrast` is the difference of two sides and the decision; `deciles` is
//! data for the shift function; `block_comparison` is the comparison over the blocks of a run; [`findings`] is what
//! else the blocks show; [`stored`] compares runs afterwards.

mod amount;
mod block_comparison;
mod blocks;
mod contrast;
mod deciles;
pub mod findings;
pub mod metric;
mod planned;
pub mod stored;

pub use amount::amounts;
pub use block_comparison::judge;
pub use deciles::Deciles;
pub(crate) use planned::planned_comparisons;

#[cfg(test)]
mod tests;
