//! Sizes and durations as recipes write them.

use serde_json::Value;

/// Longest duration, a year, in milliseconds.
const LONGEST_MS: u64 = 366 * 24 * 3_600_000;

/// Why a text is no size or no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is not a number and a unit.
    Form,
    /// It is more than there may be.
    Large,
}

impl Bad {
    /// The message for an invalid size.
    pub(super) fn size(self) -> &'static str {
        match self {
            Self::Form => "Invalid size, please define size in b, kb or mb",
            Self::Large => "there is no size of so many bytes",
        }
    }

    /// The message for an invalid duration.
    pub(super) fn timing(self) -> &'static str {
        match self {
            Self::Form => "Invalid timing, please define time in s or ms",
            Self::Large => "a time has a year at most",
        }
    }
}

/// A size in bytes: a whole number and `b`, `kb` (× 1,024) or `mb` (× 1,048,576).
pub(super) fn size(text: &str) -> Result<u64, Bad> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        _ => return Err(Bad::Form),
    };
    read(number)?.checked_mul(factor).ok_or(Bad::Large)
}

/// A size that was given as a text, or not at all.
pub(super) fn size_in(value: &Value) -> Result<u64, Bad> {
    value.as_str().ok_or(Bad::Form).and_then(size)
}

/// A duration in milliseconds: the number or text `0`, or a whole number and `ms` or `s`.
pub(super) fn duration(value: &Value) -> Result<u64, Bad> {
    match value {
        Value::Number(number) if number.as_u64() == Some(0) => Ok(0),
        Value::String(text) => duration_text(text),
        _ => Err(Bad::Form),
    }
}

/// Two durations with `..` between them, in milliseconds and ascending.
pub(super) fn range(text: &str) -> Result<(u64, u64), Bad> {
    let (one, other) = text.split_once("..").ok_or(Bad::Form)?;
    let (one, other) = (duration_text(one)?, duration_text(other)?);
    Ok((one.min(other), one.max(other)))
}

fn duration_text(text: &str) -> Result<u64, Bad> {
    if text == "0" {
        return Ok(0);
    }
    let (number, unit) = split(text)?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        _ => return Err(Bad::Form),
    };
    let ms = read(number)?.checked_mul(factor);
    ms.filter(|ms| *ms <= LONGEST_MS).ok_or(Bad::Large)
}

/// Digits, at least one, and what comes after them.
fn split(text: &str) -> Result<(&str, &str), Bad> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit()).filter(|digits| *digits > 0);
    Ok(text.split_at(unit.ok_or(Bad::Form)?))
}

/// Digits fail as a number only by being too many.
fn read(digits: &str) -> Result<u64, Bad> {
    digits.parse().map_err(|_| Bad::Large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_whole_and_have_one_of_three_units() {
        for (text, bytes) in [
            ("0b", Ok(0)),
            ("7b", Ok(7)),
            ("50kb", Ok(51_200)),
            ("2mb", Ok(2_097_152)),
            ("50", Err(Bad::Form)),
            ("50KB", Err(Bad::Form)),
            ("50 kb", Err(Bad::Form)),
            ("1.5kb", Err(Bad::Form)),
            ("-1b", Err(Bad::Form)),
            ("kb", Err(Bad::Form)),
            ("", Err(Bad::Form)),
            ("1gb", Err(Bad::Form)),
            ("99999999999999999999b", Err(Bad::Large)),
            ("18446744073709551615mb", Err(Bad::Large)),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit_unless_they_are_zero() {
        for (value, ms) in [
            (json!(0), Ok(0)),
            (json!("0"), Ok(0)),
            (json!("0ms"), Ok(0)),
            (json!("150ms"), Ok(150)),
            (json!("2s"), Ok(2_000)),
            (json!(100), Err(Bad::Form)),
            (json!(0.5), Err(Bad::Form)),
            (json!("100"), Err(Bad::Form)),
            (json!("1.5s"), Err(Bad::Form)),
            (json!("1m"), Err(Bad::Form)),
            (json!("-1s"), Err(Bad::Form)),
            (json!("1s..2s"), Err(Bad::Form)),
            (json!("99999999999999s"), Err(Bad::Large)),
            (json!(true), Err(Bad::Form)),
        ] {
            assert_eq!(duration(&value), ms, "{value}");
        }
    }

    #[test]
    fn ranges_may_mix_units_and_need_both_ends() {
        assert_eq!(range("800ms..1s"), Ok((800, 1_000)));
        assert_eq!(range("0..10ms"), Ok((0, 10)));
        assert_eq!(range("1s..800ms"), Ok((800, 1_000)));
        for text in ["1s", "1s..", "..1s", "1..2s", "1s..2s..3s", "1s...2s"] {
            assert_eq!(range(text), Err(Bad::Form), "{text}");
        }
    }
}
