//! After a run: from facts to a summary, findings and a verdict.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: what a trial records (see `record`), and how a
//! run looks on a page (see `pages`).
//!
//! In reading order: [`summarize`] makes the summary of each trial; [`case`] is the input of the judgements, and
//! [`validity`] decides whether a trial may be used; [`findings`], [`criteria`], [`comparison`] and [`verdict`] judge
//! it; [`consistency`] checks its arithmetic; [`capacity`] combines the trials of a search, [`scaling`] closed loads
//! of different sizes; [`part_times`] sums the time that operations spent in the parts of the target; [`run_record`]
//! is the input of a page; [`explain`] defines the terms; [`agents`] compares machines that performed a trial together,
//! [`burstiness`] a replay with its log.

pub mod agents;
pub mod burstiness;
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
