//! Reads fields of a JSON report by path. A missing field is no error: the rules that need it stay
//! silent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::figure::{COUNT_LIMIT, Figure};

/// The value at this path.
pub fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// A number, also one written as text.
pub fn figure(value: &Value, path: &[&str]) -> Option<Figure> {
    match at(value, path)? {
        Value::String(text) => super::figure::number(text),
        value => value.as_f64().map(Figure::of_number),
    }
}

/// A ratio. Programs print ratios with all digits, so 0 and 1 are exact.
pub fn share(value: &Value, path: &[&str]) -> Option<Figure> {
    Some(Figure { value: at(value, path)?.as_f64()?, step: 1e-6 })
}

/// A time; `unit` is its unit in seconds.
pub fn time(value: &Value, path: &[&str], unit: f64) -> Option<Figure> {
    figure(value, path).map(|figure| figure.times(unit))
}

/// A count; `None` if it is missing.
///
/// Errors: it is negative, not whole, too large or no number
pub fn count(value: &Value, path: &[&str]) -> Result<Option<u64>, String> {
    let Some(value) = at(value, path).filter(|value| !value.is_null()) else { return Ok(None) };
    let float = || {
        let float = value.as_f64()?;
        ((0.0..COUNT_LIMIT as f64).contains(&float) && float.fract() == 0.0).then_some(float as u64)
    };
    let count = value.as_u64().or_else(float).filter(|count| *count < COUNT_LIMIT);
    count.map(Some).ok_or_else(|| format!("a count in `{}`, which is {value}", path.join(".")))
}

/// A text.
pub fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str()
}

/// Counts by name; empty if they are missing.
///
/// Errors: one of them is no count
pub fn counts(value: &Value, path: &[&str]) -> Result<BTreeMap<String, u64>, String> {
    let Some(map) = at(value, path) else { return Ok(BTreeMap::new()) };
    let names = map.as_object().into_iter().flatten().map(|(name, _)| name);
    let counted = names.filter_map(|name| match count(map, &[name]) {
        Ok(count) => Some(Ok((name.clone(), count?))),
        Err(wrong) => Some(Err(wrong)),
    });
    counted.collect()
}

/// Named values of an object, in its order.
pub fn entries<'v>(value: &'v Value, path: &[&str]) -> impl Iterator<Item = (&'v str, &'v Value)> {
    let object = at(value, path).and_then(Value::as_object);
    object.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}
