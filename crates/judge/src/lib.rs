//! After a run: from facts to a summary, findings and a verdict.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: what a trial leaves behind (see
//! `record`), and how a run looks on a page (see `pages`).
//!
//! In reading order: [`summarize`] makes the summary of each trial; [`findings`], [`criteria`],
//! [`comparison`] and [`verdict`] judge it; [`consistency`] checks its arithmetic; [`capacity`] puts the
//! trials of a search together, [`scaling`] closed loads of different sizes; [`parts`] says what
//! operations spent where; [`run_record`] is what a page is made from; [`explain`] says what all these
//! words mean.

pub mod capacity;
pub mod comparison;
pub mod consistency;
pub mod criteria;
pub mod explain;
pub mod findings;
pub mod lanes;
pub mod parts;
pub mod run_record;
pub mod scaling;
pub mod scheduling;
pub mod summarize;
pub mod verdict;

#[cfg(any(test, feature = "example"))]
pub mod example;
#[cfg(any(test, feature = "example"))]
pub mod simulated;
