//! Numbers in, numbers out: histograms, quantiles and their intervals, tests.
//!
//! Reading order: [`Histogram`] holds the values, [`quantile`] says what may be claimed of them once
//! [`dispersion`] has said how far the sample is from independent draws, [`proportion`] bounds shares,
//! [`arrivals`] checks a schedule. Pure: no clock, no entropy, no files. Not here: names, verdicts,
//! sentences (see `report`).

pub mod arrivals;
mod binomial;
pub mod dispersion;
mod histogram;
pub mod proportion;
pub mod quantile;
mod special;

pub use histogram::{Bucket, COARSE, FINE, Histogram, RANGE_BITS};
pub use special::normal_quantile;
