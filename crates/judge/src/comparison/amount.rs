//! Levels of a factor that are amounts: numbers, sizes, durations, rates or percentages.

use std::time::Duration;

use plan::units::{parse_duration, parse_percentage, parse_rate, parse_size};
use serde_json::Value;

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amount {
    of: f64,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    None,
    Bytes,
    Nanoseconds,
    PerSecond,
    Share,
}

/// Each value as a number, in the unit that all of them share: bytes, nanoseconds, per second.
///
/// Errors: `None` where one is not an amount, or has another unit; 0 fits every unit
pub fn amounts<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<Vec<f64>> {
    let amounts: Vec<Amount> = values.into_iter().map(amount).collect::<Option<_>>()?;
    let is_named = |amount: &&Amount| amount.unit != Unit::None || amount.of != 0.0;
    let mut units = amounts.iter().filter(is_named).map(|amount| amount.unit);
    let first = units.next();
    let is_shared = units.all(|unit| Some(unit) == first);
    is_shared.then(|| amounts.iter().map(|amount| amount.of).collect())
}

fn amount(level: &Value) -> Option<Amount> {
    let with = |unit: Unit| move |of: f64| Amount { of, unit };
    if let Some(number) = level.as_f64() {
        return Some(with(Unit::None)(number));
    }
    let text = level.as_str()?.trim();
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    let nanoseconds = |time: Duration| time.as_nanos() as f64;
    number()
        .map(with(Unit::None))
        .or_else(|| parse_size(text).map(|bytes| bytes as f64).map(with(Unit::Bytes)))
        .or_else(|| parse_duration(text).map(nanoseconds).map(with(Unit::Nanoseconds)))
        .or_else(|| parse_rate(text).map(with(Unit::PerSecond)))
        .or_else(|| parse_percentage(text).map(with(Unit::Share)))
}
