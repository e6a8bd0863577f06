//! What a run counts, as metrics for other programs: counters that only grow, and histograms that add up.
//!
//! In reading order: [`model`] counts what the news say; [`times`] is the histogram of one operation; [`families`] names
//! the metrics; [`text`] and [`exposition`] are what Prometheus reads, [`negotiation`] which of them.
//!
//! Not here: how metrics are sent anywhere (see `push`).

pub mod exposition;
pub mod families;
pub mod model;
pub mod negotiation;
pub mod text;
pub mod times;

pub use model::Metrics;

#[cfg(test)]
mod tests;
