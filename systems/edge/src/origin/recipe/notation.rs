//! Sizes and durations as recipes write them.

use serde_json::Value;

/// What is told of a size that is none.
pub(super) const BAD_SIZE: &str = "Invalid size, please define size in b, kb or mb";
/// What is told of a duration that is none.
pub(super) const BAD_TIMING: &str = "Invalid timing, please define time in s or ms";

/// Longest duration, a year, in milliseconds.
const LONGEST_MS: u64 = 366 * 24 * 3_600_000;

/// A size in bytes: a whole number and `b`, `kb` (× 1,024) or `mb` (× 1,048,576).
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// A duration in milliseconds: the number or text `0`, or a whole number and `ms` or `s`.
pub(super) fn duration(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => (number.as_u64() == Some(0)).then_some(0),
        Value::String(text) => duration_text(text),
        _ => None,
    }
}

/// Two durations with `..` between them, in milliseconds and ascending; `None` for anything else.
pub(super) fn range(text: &str) -> Option<(u64, u64)> {
    let (one, other) = text.split_once("..")?;
    let (one, other) = (duration_text(one)?, duration_text(other)?);
    Some((one.min(other), one.max(other)))
}

fn duration_text(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let (number, unit) = split(text)?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        _ => return None,
    };
    number.checked_mul(factor).filter(|ms| *ms <= LONGEST_MS)
}

/// Digits and what comes after them.
fn split(text: &str) -> Option<(u64, &str)> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_whole_and_have_one_of_three_units() {
        for (text, bytes) in [
            ("0b", Some(0)),
            ("7b", Some(7)),
            ("50kb", Some(51_200)),
            ("2mb", Some(2_097_152)),
            ("50", None),
            ("50KB", None),
            ("50 kb", None),
            ("1.5kb", None),
            ("-1b", None),
            ("kb", None),
            ("", None),
            ("1gb", None),
            ("99999999999999999999b", None),
            ("18446744073709551615mb", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit_unless_they_are_zero() {
        for (value, ms) in [
            (json!(0), Some(0)),
            (json!("0"), Some(0)),
            (json!("0ms"), Some(0)),
            (json!("150ms"), Some(150)),
            (json!("2s"), Some(2_000)),
            (json!(100), None),
            (json!(0.5), None),
            (json!("100"), None),
            (json!("1.5s"), None),
            (json!("1m"), None),
            (json!("-1s"), None),
            (json!("1s..2s"), None),
            (json!("99999999999999s"), None),
            (json!(true), None),
        ] {
            assert_eq!(duration(&value), ms, "{value}");
        }
    }

    #[test]
    fn ranges_may_mix_units_and_need_both_ends() {
        assert_eq!(range("800ms..1s"), Some((800, 1_000)));
        assert_eq!(range("0..10ms"), Some((0, 10)));
        assert_eq!(range("1s..800ms"), Some((800, 1_000)));
        for text in ["1s", "1s..", "..1s", "1..2s", "1s..2s..3s", "1s...2s"] {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
