//! Checks metadata against a schema, fills in defaults, and normalises timestamps.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::errors::SchemaErrors;
use super::field::{Field, FieldKind, ObjectFields};
use crate::identity::Millis;
use filtering::value::Number;
use filtering::words::{below, clip, unknown};

/// Characters of a stored timestamp: `2026-11-21T13:40:00.000Z`.
const STAMP: usize = 24;

/// Checks an object against its fields and fills in defaults.
pub fn check(
    object_fields: &ObjectFields,
    object: &mut Map<String, Value>,
    at: &str,
    now: Millis,
) -> SchemaErrors {
    let mut check = Checker { now, errors: SchemaErrors::default() };
    check.object(object_fields, object, at);
    check.errors
}

/// Checks one value against its kind and normalises it.
pub fn check_value(kind: &FieldKind, value: &mut Value, at: &str) -> SchemaErrors {
    let mut check = Checker { now: 0, errors: SchemaErrors::default() };
    check.value(kind, value, at);
    check.errors
}

struct Checker {
    now: Millis,
    errors: SchemaErrors,
}

impl Checker {
    fn object(&mut self, object_fields: &ObjectFields, object: &mut Map<String, Value>, at: &str) {
        for (name, field) in &object_fields.fields {
            self.field(field, name, object, at);
        }
        if object_fields.is_open {
            return;
        }
        let known: Vec<&String> = object_fields.fields.keys().collect();
        for name in object.keys().filter(|name| !object_fields.fields.contains_key(*name)) {
            self.errors.add(&below(at, name), unknown("field", name, &known));
        }
    }

    fn field(&mut self, field: &Field, name: &str, object: &mut Map<String, Value>, at: &str) {
        let at = below(at, name);
        if !object.contains_key(name) {
            let now = || field.is_now.then(|| Value::from(self.now));
            match field.default.clone().or_else(now) {
                Some(value) => object.insert(name.to_owned(), value),
                None if field.is_required => return self.errors.add(&at, "is required"),
                None => return,
            };
        }
        if let Some(value) = object.get_mut(name) {
            self.value(&field.kind, value, &at);
        }
    }

    fn value(&mut self, kind: &FieldKind, value: &mut Value, at: &str) {
        let wrong = match (kind, value) {
            (FieldKind::Text(longest), Value::String(text)) => longest.and_then(|longest| {
                let count = text.chars().count();
                (count > longest).then(|| format!("must have at most {longest} characters (got {count})"))
            }),
            (FieldKind::Enum(values), Value::String(text)) => {
                (!values.contains(text)).then(|| unknown("value", text, values))
            }
            (FieldKind::Array(kind, longest), Value::Array(elements)) => {
                return self.array(kind, *longest, elements, at);
            }
            (FieldKind::JsonObject(object_fields), Value::Object(object)) => {
                return self.object(object_fields, object, at);
            }
            (FieldKind::Timestamp, value @ (Value::String(_) | Value::Number(_))) => {
                to_timestamp(value).map(|to_timestamp| *value = to_timestamp.into()).err()
            }
            (FieldKind::GeoPoint, Value::Object(point)) => (!is_point(point)).then(|| {
                "a point must have `lat` from -90 to 90, `lon` from -180 to 180, and nothing else".into()
            }),
            (FieldKind::Integer, Value::Number(number)) => (!is_integer(number))
                .then(|| format!("must be an integer of at most 64 bits (got {number})")),
            (FieldKind::Float, Value::Number(_)) | (FieldKind::Bool, Value::Bool(_)) => None,
            (kind, value) => {
                Some(format!("must be {} (got {})", expected_type(kind), type_of(value)))
            }
        };
        if let Some(message) = wrong {
            self.errors.add(at, message);
        }
    }

    fn array(
        &mut self,
        kind: &FieldKind,
        longest: Option<usize>,
        elements: &mut [Value],
        at: &str,
    ) {
        if let Some(longest) = longest.filter(|longest| elements.len() > *longest) {
            let count = elements.len();
            return self
                .errors
                .add(at, format!("must have at most {longest} elements (got {count})"));
        }
        for (index, element) in elements.iter_mut().enumerate() {
            self.value(kind, element, &below(at, index.to_string()));
        }
    }
}

/// An instant in its normal form.
fn to_timestamp(value: &Value) -> Result<String, String> {
    let to_timestamp = match value {
        Value::String(text) => text
            .parse::<Timestamp>()
            .map_err(|_| format!("`{}` is not an RFC 3339 timestamp with an offset", clip(text))),
        number => number
            .as_i64()
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .ok_or_else(|| format!("{number} is not a number of milliseconds since 1970")),
    }?;
    let text = format!("{to_timestamp:.3}");
    match text.len() == STAMP {
        true => Ok(text),
        false => Err("a timestamp must be in the years 0 to 9999".to_owned()),
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

fn expected_type(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Text(_) | FieldKind::Enum(_) => "a string",
        FieldKind::Array(..) => "an array",
        FieldKind::Timestamp => "an RFC 3339 timestamp or milliseconds since 1970",
        FieldKind::GeoPoint => "an object with `lat` and `lon`",
        FieldKind::Float => "a number",
        FieldKind::Integer => "an integer",
        FieldKind::Bool => "true or false",
        FieldKind::JsonObject(_) => "an object",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
