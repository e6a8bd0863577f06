//! After a run: from facts to a summary, findings, a verdict and pages.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: what a trial leaves behind (see
//! `record`), the decision which files are written and what goes to the screen (see the binary).
//!
//! In reading order: [`summarize`] makes the summary of each trial; [`findings`], [`criteria`],
//! [`comparison`] and [`verdict`] judge it; [`audit`] checks its arithmetic, and that of reports of
//! other tools, which [`imports`] reads; [`capacity`] puts the trials of a search together, [`scaling`] closed loads
//! of different sizes;
//! [`parts`] says what operations spent where; [`run_record`] is what a page is made from; [`pages`] are the pages; [`explain`] says what their
//! words mean.

pub mod audit;
pub mod capacity;
pub mod comparison;
pub mod criteria;
pub mod explain;
pub mod findings;
pub mod imports;
mod lanes;
pub mod number;
pub mod pages;
mod parts;
pub mod run_record;
pub mod scaling;
mod scheduling;
pub mod summarize;
pub mod verdict;

#[cfg(test)]
mod example;
#[cfg(test)]
mod simulated;
