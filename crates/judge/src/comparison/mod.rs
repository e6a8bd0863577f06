//! The declared comparisons, carried out: which trials are held against each other, in what, and what
//! comes of it.
//!
//! A trial gives one value to a comparison, and a block one difference: trials whose validity is not
//! `valid` or `noted` leave their block out. The arithmetic is in [`stats::comparison`]; how the result
//! looks is in `pages`.
//!
//! In reading order: `amount` the levels that are amounts; [`metric`] the value of a trial; `planned`
//! who is held against whom; `blocks` the trials that are; `contrast` the difference of two sides and
//! what it decides; `deciles` what the shift function needs; `block_comparison` what the blocks of a run say; [`findings`] what else
//! the blocks show; [`stored`] runs held against each other afterwards.

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
