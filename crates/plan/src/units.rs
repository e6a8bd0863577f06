//! Quantities of an experiment file: what messages call them, and think times. Reading and writing
//! them is [`quantities`].

use std::time::Duration;

pub use quantities::{
    format_duration, format_rate, parse_duration, parse_duration_range, parse_percentage,
    parse_rate, parse_size,
};

use crate::diagnostic::Span;
use crate::document::Reader;
use crate::load::Think;

/// What a message says it expected where a duration should stand.
pub const DURATION: &str = "a duration such as 20ms, 1.5s or 2m";
/// What a message says it expected where a rate should stand.
pub const RATE: &str = "a rate such as 500/s";
/// What a message says it expected where a think time should stand.
pub const PAUSE: &str = "a pause such as 2s, 1s..3s or exponential 2s";
/// What a message says it expected where a size should stand.
pub const SIZE: &str = "a size such as 1KiB or 300kB";
/// What a message says it expected where a percentage should stand.
pub const PERCENTAGE: &str = "a percentage such as 5%";

/// `2s`, `1s..3s` or `exponential 2s`.
pub fn parse_think(text: &str) -> Option<Think> {
    if let Some(mean) = text.trim().strip_prefix("exponential ") {
        return parse_duration(mean).map(|mean| Think::Exponential { mean });
    }
    match parse_duration_range(text) {
        Some((low, high)) => Some(Think::Uniform { low, high }),
        None => parse_duration(text).map(|pause| Think::Fixed { pause }),
    }
}

impl Reader<'_> {
    /// A duration under `key`.
    pub fn duration(&mut self, key: &str) -> Option<(Duration, Span)> {
        self.parsed(key, DURATION, parse_duration)
    }

    /// A rate above zero under `key`, per second.
    pub fn rate(&mut self, key: &str) -> Option<(f64, Span)> {
        self.parsed(key, RATE, |text| parse_rate(text).filter(|rate| *rate > 0.0))
    }
}
