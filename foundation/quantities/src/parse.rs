//! Texts to quantities.

use std::time::Duration;

/// Slower than one in eleven days is a slip.
const SLOWEST: f64 = 1e-6;
/// Faster than one a nanosecond cannot be told apart by the clock.
const FASTEST: f64 = 1e9;

/// Nanoseconds in each unit of time.
const TIME_UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// Bytes in each unit of size.
const SIZE_UNITS: [(&str, f64); 8] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// A number, not negative, and what follows it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|character: char| {
            !(character.is_ascii_digit() || character == '.' || character == '_')
        })
        .unwrap_or(text.len());
    let number = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim_start()))
}

fn in_units(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = split_number(text)?;
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| number * factor)
}

/// Names of the units of time.
pub fn time_units() -> impl Iterator<Item = &'static str> {
    TIME_UNITS.iter().map(|(name, _)| *name)
}

/// `500us`, `20ms`, `1.5s`, `2m`, `1h`; also `1m30s`. Zero needs its unit, too.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let unit = after[..end].trim();
        total += number * TIME_UNITS.iter().find(|(name, _)| *name == unit)?.1;
        rest = after[end..].trim_start();
    }
    let known = !text.trim().is_empty() && total < 1e18;
    known.then(|| Duration::from_nanos(total.round() as u64))
}

/// `500/s`, `30/m`, `0.5/ms`, `3/h`: operations per second.
pub fn parse_rate(text: &str) -> Option<f64> {
    let (number, rest) = split_number(text)?;
    let unit = rest.strip_prefix('/')?.trim();
    let rate = match unit {
        "s" => number,
        "ms" => number * 1e3,
        "m" => number / 60.0,
        "h" => number / 3600.0,
        _ => return None,
    };
    (rate == 0.0 || (SLOWEST..FASTEST).contains(&rate)).then_some(rate)
}

/// `20B`, `1KiB`, `300kB`, `10MB`: bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    let bytes = in_units(text, &SIZE_UNITS)?;
    (bytes.fract() == 0.0 && bytes < 1e15).then_some(bytes as u64)
}

/// `5%` as 0.05.
pub fn parse_percentage(text: &str) -> Option<f64> {
    let (number, rest) = split_number(text)?;
    (rest == "%").then_some(number / 100.0)
}

/// `1s..3s`; the second is not less than the first.
pub fn parse_duration_range(text: &str) -> Option<(Duration, Duration)> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (parse_duration(low)?, parse_duration(high)?);
    (low <= high).then_some((low, high))
}

/// A share in [0, 1], as `25%` or `0.25`.
pub fn parse_ratio(text: &str) -> Option<f64> {
    let plain = || split_number(text).filter(|(_, rest)| rest.is_empty());
    let ratio = parse_percentage(text).or_else(|| Some(plain()?.0))?;
    (ratio <= 1.0).then_some(ratio)
}

/// What `parse` reads, and a bare `0`, which means the same in every unit.
pub fn zero_or<T: Default>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    if text.trim() == "0" { Some(T::default()) } else { parse(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            ("500us", 500_000),
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1m30s", 90_000_000_000),
            ("0s", 0),
            ("7ns", 7),
            ("250 us", 250_000),
            ("250µs", 250_000),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text), Some(Duration::from_nanos(ns)), "{text}");
        }
        for text in ["500", "", "ms", "-1s", "1e3s", "1 day", "1.2.3s", "99999999999999h", "0"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(parse_rate("500/s"), Some(500.0));
        assert_eq!(parse_rate("30/m"), Some(0.5));
        assert_eq!(parse_rate("2 / ms"), Some(2000.0));
        for text in ["500", "500/", "500/day", "/s", "-5/s", "0.0000001/s", "99999999999/s"] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1KiB"), Some(1024));
        assert_eq!(parse_size("300kB"), Some(300_000));
        assert_eq!(parse_size("10MB"), Some(10_000_000));
        assert_eq!(parse_size("20B"), Some(20));
        assert_eq!(parse_size("2GiB"), Some(2 << 30));
        assert_eq!(parse_size("1.5KB"), Some(1500));
        for text in ["20", "1.5B", "1 XB", ""] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_and_percentages() {
        let seconds = Duration::from_secs;
        assert_eq!(parse_duration_range("1s..3s"), Some((seconds(1), seconds(3))));
        assert_eq!(parse_duration_range("3s..1s"), None);
        assert_eq!(parse_percentage("5%"), Some(0.05));
        assert_eq!(parse_percentage("5"), None);
    }

    #[test]
    fn ratios_are_percentages_or_shares() {
        assert_eq!([parse_ratio("25%"), parse_ratio("0.25")], [Some(0.25); 2]);
        for text in ["101%", "1.5", "x", "", "-1"] {
            assert_eq!(parse_ratio(text), None, "{text}");
        }
    }

    #[test]
    fn only_zero_needs_no_unit() {
        assert_eq!(zero_or("0", parse_size), Some(0));
        assert_eq!(zero_or(" 0 ", parse_duration), Some(Duration::ZERO));
        assert_eq!(zero_or("12", parse_size), None);
        assert_eq!(zero_or("12B", parse_size), Some(12));
    }
}
