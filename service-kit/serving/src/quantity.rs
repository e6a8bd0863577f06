//! Quantities as people write them: `1.5ms`, `1000/s`, `64KiB`, `25%`. Units are mandatory.

/// Units of time and their nanoseconds, longest name first where one ends with another.
const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// Units of size and their bytes, longest name first where one ends with another.
const SIZES: [(&str, f64); 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];

/// Units of a rate and how many of them make a second.
const RATES: [(&str, f64); 3] = [("/s", 1.0), ("/m", 1.0 / 60.0), ("/h", 1.0 / 3600.0)];

/// A length of time in nanoseconds; `None` if it is invalid, negative, or over 292 years.
pub fn parse_time(text: &str) -> Option<u64> {
    whole(with_unit(text, &TIMES)?)
}

/// A size in bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    whole(with_unit(text, &SIZES)?)
}

/// A rate per second, above zero.
pub fn parse_rate(text: &str) -> Option<f64> {
    with_unit(text, &RATES).filter(|rate| *rate > 0.0)
}

/// A share in [0, 1], written as `25%` or `0.25`.
pub fn parse_ratio(text: &str) -> Option<f64> {
    let ratio = match text.trim().strip_suffix('%') {
        Some(number) => plain(number)? / 100.0,
        None => plain(text)?,
    };
    (ratio <= 1.0).then_some(ratio)
}

/// A bare `0` needs no unit; all else does.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    if text == "0" {
        return Some(0.0);
    }
    units
        .iter()
        .find_map(|(unit, factor)| Some(plain(text.strip_suffix(unit)?.trim_end())? * factor))
}

/// Digits with at most one point: no sign, no exponent, no `inf`.
fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric { text.parse().ok() } else { None }
}

fn whole(number: f64) -> Option<u64> {
    let rounded = number.round();
    (rounded < i64::MAX as f64).then_some(rounded as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_unit() {
        for (text, expect) in [
            ("1ms", Some(1_000_000)),
            ("1.5ms", Some(1_500_000)),
            ("250 us", Some(250_000)),
            ("250µs", Some(250_000)),
            ("90ns", Some(90)),
            ("2s", Some(2_000_000_000)),
            ("1m", Some(60_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            ("0", Some(0)),
            ("5", None),
            ("-1ms", None),
            ("1e3s", None),
            ("ms", None),
            ("1 day", None),
            ("99999999999999h", None),
            ("", None),
        ] {
            assert_eq!(parse_time(text), expect, "{text}");
        }
    }

    #[test]
    fn sizes_rates_and_ratios() {
        assert_eq!(parse_size("2GiB"), Some(2 << 30));
        assert_eq!(parse_size("1.5KB"), Some(1500));
        assert_eq!(parse_size("12B"), Some(12));
        assert_eq!(parse_size("12"), None);
        assert_eq!(parse_rate("1000/s"), Some(1000.0));
        assert_eq!(parse_rate("120/m"), Some(2.0));
        assert_eq!(parse_rate("0/s"), None);
        assert_eq!(parse_rate("0"), None);
        assert_eq!(parse_ratio("25%"), Some(0.25));
        assert_eq!(parse_ratio("0.25"), Some(0.25));
        assert_eq!(parse_ratio("101%"), None);
        assert_eq!(parse_ratio("x"), None);
    }
}
