//! The parts that all buses share: splitting a multicast into deliveries, tracking them, and timing
//! retries.
//!
//! In reading order: [`delivery`] makes deliveries from targets, [`tracker`] records pending ones
//! and their acknowledgements, [`backoff`] computes pauses between attempts.

pub mod backoff;
pub mod delivery;
pub mod tracker;
