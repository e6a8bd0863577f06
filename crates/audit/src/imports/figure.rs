//! Printed numbers: a value, and the largest difference from the true value.
//!
//! Not here: which number of a report is which (see the formats).

use serde::{Deserialize, Deserializer, de::Error};

/// A printed number. The true value differs by less than `step`, whether the tool rounded or truncated it.
///
/// Units:  seconds for times, bytes for sizes, 1/s for rates, ratios for shares
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// One unit of its last printed digit.
    pub step: f64,
}

impl Figure {
    /// A number that is not rounded.
    pub fn exact(value: f64) -> Self {
        Self { value, step: value.abs() * 1e-9 }
    }

    /// A JSON number, with as many digits as it needs.
    pub fn of_number(value: f64) -> Self {
        let text = format!("{value}");
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let step = 10f64.powi(-i32::try_from(decimals).unwrap_or(0));
        Self { value, step: step.max(value.abs() * 1e-9) }
    }

    /// The same in another unit.
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, step: self.step * factor }
    }

    /// The same with a `step` of at least this size.
    pub fn at_least(self, step: f64) -> Self {
        Self { step: self.step.max(step), ..self }
    }

    /// The least value that prints like this.
    pub fn low(self) -> f64 {
        self.value - self.step
    }

    /// The greatest value that prints like this.
    pub fn high(self) -> f64 {
        self.value + self.step
    }

    /// Whether this value prints like this.
    pub fn allows(self, value: f64) -> bool {
        self.may_be(value, value)
    }

    /// Whether some value in this range prints like this.
    pub fn may_be(self, low: f64, high: f64) -> bool {
        let slack = 1e-9 * high.abs().max(self.value.abs());
        self.low() <= high + slack && low <= self.high() + slack
    }
}

/// The number at the start of a text, and the rest of the text. Skips commas between thousands.
pub fn leading(text: &str) -> Option<(Figure, &str)> {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(place, c)| {
            let sign = (*c == '-' || *c == '+') && (*place == 0 || exponent_before(text, *place));
            let exponent = matches!(c, 'e' | 'E') && has_exponent(&text[place + 1..]);
            !(c.is_ascii_digit() || matches!(c, '.' | ',') || sign || exponent)
        })
        .map_or(text.len(), |(place, _)| place);
    let digits = text[..end].trim_end_matches(['.', ',']);
    let rest = &text[digits.len()..];
    let plain: String = digits.chars().filter(|c| *c != ',').collect();
    let value: f64 = plain.parse().ok().filter(|value: &f64| value.is_finite())?;
    let (mantissa, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let power = exponent.parse::<i32>().ok()? - i32::try_from(decimals).ok()?;
    Some((Figure { value, step: 10f64.powi(power).max(value.abs() * 1e-9) }, rest))
}

fn exponent_before(text: &str, place: usize) -> bool {
    place > 1 && matches!(text.as_bytes()[place - 1], b'e' | b'E')
}

fn has_exponent(rest: &str) -> bool {
    rest.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit())
}

/// A plain number; the text contains nothing else.
pub fn number(text: &str) -> Option<Figure> {
    leading(text).filter(|(_, rest)| rest.trim().is_empty()).map(|(figure, _)| figure)
}

/// A count; the text contains nothing else.
pub fn count(text: &str) -> Option<u64> {
    let plain: String = text.trim().chars().filter(|c| *c != ',').collect();
    plain.parse().ok().filter(|count| *count < COUNT_LIMIT)
}

/// Larger than any tool's counts, and small enough that a sum of several does not overflow.
pub const COUNT_LIMIT: u64 = 9_000_000_000_000_000;

/// Sum of counts, at most [`COUNT_LIMIT`]: a report may list more counts than a sum can hold.
pub fn sum<'c>(counts: impl IntoIterator<Item = &'c u64>) -> u64 {
    counts.into_iter().fold(0, |sum, count| sum.saturating_add(*count).min(COUNT_LIMIT))
}

/// A percentage, as a ratio.
pub fn percent(text: &str) -> Option<Figure> {
    let (figure, rest) = leading(text)?;
    rest.trim_start().starts_with('%').then(|| figure.times(0.01))
}

/// A time with its unit, or several joined as in `1m2.5s`.
pub fn time(text: &str) -> Option<Figure> {
    let (mut sum, mut rest) = (None::<Figure>, text.trim());
    while !rest.is_empty() {
        let (figure, after) = leading(rest)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let part = figure.times(unit_of_time(&after[..end])?);
        let before = sum.map_or(0.0, |sum| sum.value);
        sum = Some(Figure { value: before + part.value, step: part.step });
        rest = after[end..].trim_start();
    }
    sum
}

fn unit_of_time(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    })
}

/// A size with its unit; `thousand` is the factor between units (1,000 or 1,024).
pub fn size(text: &str, thousand: f64) -> Option<Figure> {
    let (figure, rest) = leading(text)?;
    let power = match rest.trim().trim_end_matches("/s").to_ascii_uppercase().as_str() {
        "B" | "BYTES" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return None,
    };
    Some(figure.times(thousand.powi(power)))
}

/// A number, as a JSON number or as a text that keeps the printed digits.
impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(from)? {
            serde_json::Value::Number(value) => {
                Ok(Self::of_number(value.as_f64().ok_or_else(|| D::Error::custom("a number"))?))
            }
            serde_json::Value::String(text) => percent(&text)
                .or_else(|| number(&text))
                .ok_or_else(|| D::Error::custom(format!("\"{text}\" is not a number"))),
            other => Err(D::Error::custom(format!("{other} is not a number"))),
        }
    }
}

/// A time of a JSON text, always with its unit.
pub fn time_field<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Figure>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let wrong =
        || D::Error::custom(format!("\"{text}\" is not a time with its unit, such as 12ms"));
    time(&text).map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_digits_say_how_far_the_truth_may_be() {
        let of = |text| time(text).map(|one| (one.value, one.step));
        assert_eq!(of("13s"), Some((13.0, 1.0)));
        let (value, step) = of("1m0.03829011s").expect("a time");
        assert!((value - 60.038_290_11).abs() < 1e-9 && (step - 1e-8).abs() < 1e-9);
        assert_eq!(of("0.0005 secs"), Some((0.000_5, 0.000_1)));
        assert_eq!(of("2.5"), None);
        assert_eq!(of("2.5 parsecs"), None);
        assert_eq!(number("1,471").map(|one| one.value), Some(1_471.0));
        assert_eq!(percent("91.79%").map(|one| one.value), Some(91.79 * 0.01));
        assert_eq!(number("1.5e-3").map(|one| (one.value, one.step)), Some((0.0015, 1e-4)));
        assert_eq!(size("8.88MB", 1_024.0).map(|one| one.value), Some(8.88 * 1_048_576.0));
        assert_eq!(number("e"), None);
        assert_eq!(number("-"), None);
        assert_eq!(number(""), None);
    }

    #[test]
    fn a_figure_allows_what_may_have_been_rounded_to_it() {
        let rate = number("199.93").expect("a number");
        assert!(rate.allows(11_997.0 / 60.006_713));
        assert!(!rate.allows(200.0));
    }
}
