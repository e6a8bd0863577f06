//! Numbers in, numbers out: histograms, quantiles and their intervals, tests, searches.
//!
//! Reading order: [`Histogram`] holds the values, [`quantile`] says what may be claimed of them once
//! [`dispersion`] has said how far the sample is from independent draws, [`proportion`] bounds shares,
//! [`exceedance`] holds the operations beyond a bound against the share that is allowed, at thresholds that
//! follow the [`running_median`] of a trial,
//! [`harrell_davis`] makes quantiles of few values, [`arrivals`] says how uneven a schedule is, [`burstiness`] compares two,
//! [`steady`] says whether a trial was in a steady state, [`comparison`] holds trials against each other, [`capacity`] searches for the
//! highest rate, [`bootstrap`] resamples what has no formula; [`signature`], [`modes`], [`periodic`], [`trend`]
//! and [`race`] find what a shape gives away.
//!
//! Pure: no clock, no entropy, no files. Not here: names, verdicts, sentences (see `judge`).

pub mod arrivals;
mod binomial;
pub mod bootstrap;
pub mod burstiness;
pub mod capacity;
mod chance;
pub mod comparison;
pub mod dispersion;
pub mod exceedance;
pub mod harrell_davis;
mod histogram;
mod interval;
pub mod modes;
mod moments;
pub mod periodic;
pub mod proportion;
pub mod quantile;
pub mod race;
pub mod running_median;
pub mod signature;
mod special;
pub mod steady;
pub mod trend;

pub use histogram::{Bucket, COARSE, FINE, Histogram, RANGE_BITS};
pub use interval::Interval;
pub use moments::{deviation, moments};
pub use special::normal_quantile;
