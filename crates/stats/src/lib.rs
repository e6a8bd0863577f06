//! Numbers in, numbers out: histograms, quantiles and their intervals, tests.
//!
//! Pure: no clock, no entropy, no files. Not here: names, verdicts, sentences (see `report`).

mod histogram;
pub mod quantile;

pub use histogram::{Bucket, COARSE, FINE, Histogram, RANGE_BITS};
