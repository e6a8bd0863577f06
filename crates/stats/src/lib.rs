//! Numbers in, numbers out: histograms, quantiles and their intervals, tests.
//!
//! Reading order: [`Histogram`] holds the values, [`quantile`] says what may be claimed of them once
//! [`dispersion`] has said how far the sample is from independent draws, [`proportion`] bounds shares,
//! [`arrivals`] checks a schedule; [`signature`], [`modes`], [`periodic`] and [`trend`] find what a shape gives away. Pure: no clock, no entropy, no files. Not here: names, verdicts,
//! sentences (see `report`).

pub mod arrivals;
mod binomial;
pub mod dispersion;
mod histogram;
pub mod modes;
pub mod periodic;
pub mod proportion;
pub mod quantile;
pub mod signature;
mod special;
pub mod trend;

pub use histogram::{Bucket, COARSE, FINE, Histogram, RANGE_BITS};
