//! Holds metadata against a schema, puts in what is not given, and brings timestamps into one form.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::faults::Faults;
use super::field::{Field, Kind, Members};
use crate::identity::Millis;
use filtering::value::Number;
use filtering::words::{below, clip, unknown};

/// Characters of a timestamp as it is kept: `2026-11-21T13:40:00.000Z`.
const STAMP: usize = 24;

/// Holds an object against its fields and completes it.
pub fn check(members: &Members, object: &mut Map<String, Value>, at: &str, now: Millis) -> Faults {
    let mut check = Check { now, faults: Faults::default() };
    check.object(members, object, at);
    check.faults
}

/// Holds one value against its kind and brings it into its form.
pub fn check_value(kind: &Kind, value: &mut Value, at: &str) -> Faults {
    let mut check = Check { now: 0, faults: Faults::default() };
    check.value(kind, value, at);
    check.faults
}

struct Check {
    now: Millis,
    faults: Faults,
}

impl Check {
    fn object(&mut self, members: &Members, object: &mut Map<String, Value>, at: &str) {
        for (name, field) in &members.fields {
            self.field(field, name, object, at);
        }
        if members.is_open {
            return;
        }
        let known: Vec<&String> = members.fields.keys().collect();
        for name in object.keys().filter(|name| !members.fields.contains_key(*name)) {
            self.faults.add(&below(at, name), unknown("field", name, &known));
        }
    }

    fn field(&mut self, field: &Field, name: &str, object: &mut Map<String, Value>, at: &str) {
        let at = below(at, name);
        if !object.contains_key(name) {
            let now = || field.is_now.then(|| Value::from(self.now));
            match field.default.clone().or_else(now) {
                Some(value) => object.insert(name.to_owned(), value),
                None if field.is_required => return self.faults.add(&at, "required, not given"),
                None => return,
            };
        }
        if let Some(value) = object.get_mut(name) {
            self.value(&field.kind, value, &at);
        }
    }

    fn value(&mut self, kind: &Kind, value: &mut Value, at: &str) {
        let wrong = match (kind, value) {
            (Kind::Text(longest), Value::String(text)) => longest.and_then(|longest| {
                let count = text.chars().count();
                (count > longest).then(|| format!("at most {longest} characters, this has {count}"))
            }),
            (Kind::Enum(values), Value::String(text)) => {
                (!values.contains(text)).then(|| unknown("value", text, values))
            }
            (Kind::Array(kind, longest), Value::Array(elements)) => {
                return self.array(kind, *longest, elements, at);
            }
            (Kind::Object(members), Value::Object(object)) => {
                return self.object(members, object, at);
            }
            (Kind::Timestamp, value @ (Value::String(_) | Value::Number(_))) => {
                stamp(value).map(|stamp| *value = stamp.into()).err()
            }
            (Kind::GeoPoint, Value::Object(point)) => (!is_point(point)).then(|| {
                "a point has `lat` from -90 to 90, `lon` from -180 to 180, and nothing else".into()
            }),
            (Kind::Integer, Value::Number(number)) => (!is_integer(number))
                .then(|| format!("an integer of at most 64 bits, this is {number}")),
            (Kind::Float, Value::Number(_)) | (Kind::Bool, Value::Bool(_)) => None,
            (kind, value) => Some(format!("takes {}, this is {}", takes(kind), what(value))),
        };
        if let Some(message) = wrong {
            self.faults.add(at, message);
        }
    }

    fn array(&mut self, kind: &Kind, longest: Option<usize>, elements: &mut [Value], at: &str) {
        if let Some(longest) = longest.filter(|longest| elements.len() > *longest) {
            let count = elements.len();
            return self.faults.add(at, format!("at most {longest} elements, this has {count}"));
        }
        for (index, element) in elements.iter_mut().enumerate() {
            self.value(kind, element, &below(at, index.to_string()));
        }
    }
}

/// An instant in its one form.
fn stamp(value: &Value) -> Result<String, String> {
    let stamp = match value {
        Value::String(text) => text
            .parse::<Timestamp>()
            .map_err(|_| format!("`{}` is no RFC 3339 timestamp with an offset", clip(text))),
        number => number
            .as_i64()
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .ok_or_else(|| format!("{number} is no number of milliseconds since 1970")),
    }?;
    let text = format!("{stamp:.3}");
    match text.len() == STAMP {
        true => Ok(text),
        false => Err("a timestamp is of the years 0 to 9999".to_owned()),
    }
}

fn is_point(point: &Map<String, Value>) -> bool {
    let within = |name: &str, most: f64| {
        point.get(name).and_then(Value::as_f64).is_some_and(|degrees| degrees.abs() <= most)
    };
    point.len() == 2 && within("lat", 90.0) && within("lon", 180.0)
}

fn is_integer(number: &serde_json::Number) -> bool {
    match Number::of(number) {
        Number::Integer(integer) => {
            i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok()
        }
        Number::Fraction(_) => false,
    }
}

fn takes(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text(_) | Kind::Enum(_) => "a string",
        Kind::Array(..) => "an array",
        Kind::Timestamp => "an RFC 3339 timestamp or milliseconds since 1970",
        Kind::GeoPoint => "an object with `lat` and `lon`",
        Kind::Float => "a number",
        Kind::Integer => "an integer",
        Kind::Bool => "true or false",
        Kind::Object(_) => "an object",
    }
}

fn what(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
