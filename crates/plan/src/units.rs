//! Quantities in an experiment file: their descriptions for messages, and think times.
//! [`quantities`] reads and writes them.

use std::time::Duration;

pub use quantities::{
    format_duration, format_rate, parse_duration, parse_duration_range, parse_percentage,
    parse_rate, parse_size,
};

use crate::diagnostic::Span;
use crate::document::Reader;
use crate::load::Think;

/// The expected value in a message about a duration.
pub const DURATION: &str = "a duration such as 20ms, 1.5s or 2m";
/// The expected value in a message about a rate.
pub const RATE: &str = "a rate such as 500/s";
/// The expected value in a message about a think time.
pub const PAUSE: &str = "a pause such as 2s, 1s..3s or exponential 2s";
/// The expected value in a message about a size.
pub const SIZE: &str = "a size such as 1KiB or 300kB";
/// The expected value in a message about a percentage.
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

/// The unit that a header such as `offset_ms` says of its column; `None` if it does not begin like that.
///
/// Errors: it is no unit of such lists
pub fn of_column<'t>(header: &'t str, begin: &str) -> Option<Result<&'t str, String>> {
    let unit = header.strip_prefix(begin)?;
    let expected = ["ns", "us", "ms", "s"];
    Some(match expected.contains(&unit) {
        true => Ok(unit),
        false => {
            let [first, second, third, last] = expected.map(|unit| format!("{begin}{unit}"));
            Err(format!("expected {first}, {second}, {third} or {last}, got \"{header}\""))
        }
    })
}

/// A duration with its own unit, or a bare number of this one; a bare 0 needs none.
pub fn duration_in(text: &str, unit: &str) -> Option<Duration> {
    let parse = |text: &str| match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => parse_duration(&format!("{text}{unit}")),
        false => parse_duration(text),
    };
    quantities::zero_or(text, parse)
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
