//! After a run: from facts to a summary, findings and a verdict.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: what a trial leaves behind (see
//! `record`), and how a run looks on a page (see `pages`).
//!
//! In reading order: [`summarize`] makes the summary of each trial; [`case`] is what the judgements look at, and
//! [`validity`] decides whether a trial may be used; [`findings`], [`criteria`], [`comparison`] and [`verdict`] judge
//! it; [`consistency`] checks its arithmetic; [`capacity`] puts the trials of a search together, [`scaling`] closed
//! loads of different sizes; [`part_times`] sums what operations spent in the parts of the target; [`run_record`] is
//! what a page is made from; [`explain`] defines the terms.

pub mod capacity;
pub mod case;
pub mod comparison;
pub mod concurrency;
pub mod consistency;
pub mod criteria;
mod distribution;
pub mod explain;
pub mod findings;
pub mod part_times;
pub mod run_record;
pub mod scaling;
pub mod scheduling;
pub mod summarize;
pub mod validity;
pub mod verdict;
mod window_series;

#[cfg(any(test, feature = "example"))]
pub mod example;
#[cfg(any(test, feature = "example"))]
pub mod simulated;
