//! A value for a schema: its example, or one made by its type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::document::{Document, reference};
use super::pattern;
use crate::credentials::Credentials;

/// How deep a value nests at most.
const DEEPEST: usize = 64;
/// How much a value of one operation may cost, in values looked at.
pub(super) const MOST: usize = 5_000;
/// The longest text that is made because a schema wants one.
const LONGEST: u64 = 4_096;
/// The most elements that are made because a schema wants them.
const MOST_ELEMENTS: u64 = 100;

/// Makes values.
pub(super) struct Values<'a> {
    pub document: &'a Document,
    pub credentials: &'a mut Credentials,
    /// What may still be spent.
    pub left: usize,
    /// What could not be said.
    pub notes: BTreeSet<String>,
    /// References that are being followed: one that comes again is a cycle.
    under_way: Vec<&'a str>,
    depth: usize,
}

/// A schema with what `allOf`, `oneOf`, `anyOf` and references add to it.
#[derive(Default)]
struct Shape<'a> {
    keys: BTreeMap<&'a str, &'a Value>,
    properties: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
}

impl<'a> Values<'a> {
    pub fn new(document: &'a Document, credentials: &'a mut Credentials, left: usize) -> Self {
        let (notes, under_way) = (BTreeSet::new(), Vec::new());
        Self { document, credentials, left, notes, under_way, depth: 0 }
    }

    /// Whether the cost can be paid; what cannot be paid is noted once.
    fn pay(&mut self, cost: usize) -> bool {
        let can = self.left >= cost;
        self.left = self.left.saturating_sub(cost);
        if !can {
            self.notes.insert("a value is too large, and is cut".to_owned());
        }
        can
    }

    /// An example of the source: without null, with its credentials hidden.
    pub fn example(&mut self, key: &str, value: &Value) -> Option<Value> {
        let plain = self.without_null(value)?;
        Some(self.credentials.json(key, plain))
    }

    fn without_null(&mut self, value: &Value) -> Option<Value> {
        let length = value.as_str().map_or(0, str::len);
        if !self.pay(1 + length / 64) {
            return None;
        }
        Some(match value {
            Value::Null => return None,
            Value::Array(values) => {
                values.iter().filter_map(|one| self.without_null(one)).collect()
            }
            Value::Object(entries) => {
                let kept = entries
                    .iter()
                    .filter_map(|(key, one)| Some((key.clone(), self.without_null(one)?)));
                Value::Object(kept.collect())
            }
            // TOML ends at the largest signed number.
            Value::Number(number) if number.is_u64() && !number.is_i64() => {
                number.as_f64().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
            }
            other => other.clone(),
        })
    }

    /// A value for this schema; none if only null, a cycle or nothing at all would do.
    pub fn of(&mut self, key: &str, schema: &'a Value) -> Option<Value> {
        if self.depth >= DEEPEST {
            self.notes.insert(format!("a value nests deeper than {DEEPEST}, and is cut"));
            return None;
        }
        let before = self.under_way.len();
        self.depth += 1;
        let mut shape = Shape::default();
        let value = self.gather(schema, &mut shape).then(|| self.made(key, &shape)).flatten();
        self.depth -= 1;
        self.under_way.truncate(before);
        value
    }

    /// Adds a schema to a shape; `false` if it is a cycle or is missing.
    fn gather(&mut self, schema: &'a Value, shape: &mut Shape<'a>) -> bool {
        let Value::Object(entries) = schema else { return schema != &Value::Bool(false) };
        if self.under_way.len() > DEEPEST || !self.pay(1 + entries.len()) {
            return false;
        }
        for (name, value) in entries {
            match (name.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    if !self.pay(properties.len()) {
                        return false;
                    }
                    for (name, property) in properties {
                        shape.properties.entry(name).or_insert(property);
                    }
                }
                ("required", Value::Array(names)) => {
                    shape.required.extend(names.iter().filter_map(Value::as_str));
                }
                ("$ref" | "allOf" | "oneOf" | "anyOf", _) => {}
                (name, value) => {
                    shape.keys.entry(name).or_insert(value);
                }
            }
        }
        if let Some(reference) = reference(schema) {
            return self.follow(reference, shape);
        }
        for part in list(schema, "allOf") {
            if !self.gather(part, shape) {
                return false;
            }
        }
        for choice in ["oneOf", "anyOf"] {
            let first = list(schema, choice).iter().find(|one| !is_null(one));
            if first.is_some_and(|first| !self.gather(first, shape)) {
                return false;
            }
        }
        true
    }

    fn follow(&mut self, reference: &'a str, shape: &mut Shape<'a>) -> bool {
        if self.under_way.contains(&reference) {
            return false;
        }
        let Some(target) = self.document.at(reference) else {
            self.notes.insert(format!("the reference {reference:?} is left out"));
            return false;
        };
        self.under_way.push(reference);
        self.gather(target, shape)
    }

    fn made(&mut self, key: &str, shape: &Shape<'a>) -> Option<Value> {
        if let Some(given) = given(&shape.keys) {
            return self.example(key, given);
        }
        match kind(shape)? {
            "object" => self.object(shape),
            "array" => self.array(key, shape),
            "boolean" => Some(Value::Bool(true)),
            "integer" => number(shape, true),
            "number" => number(shape, false),
            _ => Some(self.text(key, shape)),
        }
    }

    fn object(&mut self, shape: &Shape<'a>) -> Option<Value> {
        let mut made = Map::new();
        for (&name, &property) in &shape.properties {
            let target = self.document.resolve(property).unwrap_or(property);
            let is = |word: &str| [property, target].iter().any(|one| one[word] == true);
            let has_example =
                [property, target].iter().filter_map(|one| one.as_object()).any(|one| {
                    ["example", "examples", "default", "const"]
                        .iter()
                        .any(|word| one.get(*word).is_some_and(|value| !value.is_null()))
                });
            if is("readOnly") || !(shape.required.contains(name) || has_example) {
                continue;
            }
            if let Some(value) = self.of(name, property) {
                made.insert(name.to_owned(), value);
            }
        }
        for &name in &shape.required {
            if !shape.properties.contains_key(name) && self.pay(1) {
                made.insert(name.to_owned(), self.credentials.json(name, "text".into()));
            }
        }
        Some(Value::Object(made))
    }

    fn array(&mut self, key: &str, shape: &Shape<'a>) -> Option<Value> {
        let limit = |word| shape.keys.get(word).and_then(|value| value.as_u64());
        let count =
            limit("minItems").unwrap_or(1).max(1).min(limit("maxItems").unwrap_or(u64::MAX));
        if count > MOST_ELEMENTS {
            self.notes.insert(format!("a list has {MOST_ELEMENTS} elements in place of {count}"));
        }
        let items = shape.keys.get("items").copied();
        let mut made = Vec::new();
        for _ in 0..count.min(MOST_ELEMENTS) {
            let Some(items) = items else { break };
            made.extend(self.of(key, items));
        }
        Some(Value::Array(made))
    }

    fn text(&mut self, key: &str, shape: &Shape<'a>) -> Value {
        let word = |word| shape.keys.get(word).and_then(|value: &&Value| value.as_str());
        let known = match word("format").unwrap_or_default() {
            "uuid" => return "{{uuid}}".into(),
            "password" => {
                return self
                    .credentials
                    .variable(if key.is_empty() { "password" } else { key })
                    .as_str()
                    .into();
            }
            "date" => "2026-01-01",
            "date-time" => "2026-01-01T00:00:00Z",
            "time" => "00:00:00Z",
            "duration" => "PT1S",
            "email" | "idn-email" => "user@example.com",
            "uri" | "url" | "iri" => "https://example.com/",
            "uri-reference" => "/",
            "hostname" => "example.com",
            "ipv4" => "192.0.2.1",
            "ipv6" => "2001:db8::1",
            "byte" => "dGV4dA==",
            _ => "",
        };
        if !known.is_empty() {
            return known.into();
        }
        if crate::credentials::is_secret(key) {
            return self.credentials.variable(key).as_str().into();
        }
        let limit = |word| shape.keys.get(word).and_then(|value| value.as_u64());
        let (least, most) =
            (limit("minLength").unwrap_or(0), limit("maxLength").unwrap_or(u64::MAX));
        if let Some(wanted) = word("pattern") {
            match pattern::text(wanted, least.min(LONGEST) as usize) {
                Some(text) => return self.credentials.json("", text.into()),
                None => {
                    let short: String = wanted.chars().take(60).collect();
                    self.notes
                        .insert(format!("{key:?} must match {short:?}, which its value may not"));
                }
            }
        }
        if least > LONGEST {
            self.notes.insert(format!("{key:?} must have {least} characters, and has {LONGEST}"));
        }
        let length = least.max(4).min(most).min(LONGEST) as usize;
        "text".chars().cycle().take(length).collect::<String>().into()
    }
}

/// What the schema itself gives as a value.
fn given<'a>(keys: &BTreeMap<&'a str, &'a Value>) -> Option<&'a Value> {
    let first = |word: &str| keys.get(word)?.as_array()?.iter().find(|one| !one.is_null());
    let one = |word: &str| keys.get(word).copied().filter(|one| !one.is_null());
    one("example")
        .or_else(|| first("examples"))
        .or_else(|| one("const"))
        .or_else(|| one("default"))
        .or_else(|| first("enum"))
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// The type; none for null alone.
fn kind<'a>(shape: &Shape<'a>) -> Option<&'a str> {
    let has = |key: &str| shape.keys.contains_key(key);
    match shape.keys.get("type") {
        Some(Value::String(kind)) => (kind != "null").then_some(kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")
        }
        _ if !shape.properties.is_empty() || !shape.required.is_empty() => Some("object"),
        _ if has("items") => Some("array"),
        _ if has("minimum") || has("maximum") => Some("number"),
        _ if has("additionalProperties") => Some("object"),
        _ => Some("string"),
    }
}

/// A number within the bounds, 1 if that is.
fn number(shape: &Shape<'_>, whole: bool) -> Option<Value> {
    let bound = |word| shape.keys.get(word).and_then(|value| value.as_f64());
    let is_open = |word| shape.keys.get(word).is_some_and(|value| **value == Value::Bool(true));
    let step =
        bound("multipleOf").filter(|step| *step > 0.0).unwrap_or(if whole { 1.0 } else { 0.5 });
    let least = match (bound("exclusiveMinimum"), bound("minimum")) {
        (Some(open), closed) => Some((open + step).max(closed.unwrap_or(f64::MIN))),
        (None, Some(closed)) if is_open("exclusiveMinimum") => Some(closed + step),
        (None, closed) => closed,
    };
    let most = match (bound("exclusiveMaximum"), bound("maximum")) {
        (Some(open), closed) => Some((open - step).min(closed.unwrap_or(f64::MAX))),
        (None, Some(closed)) if is_open("exclusiveMaximum") => Some(closed - step),
        (None, closed) => closed,
    };
    let mut value = least.unwrap_or(1.0).max(1.0).min(most.unwrap_or(f64::MAX));
    if least.is_some_and(|least| value < least) {
        value = least.unwrap_or(value);
    }
    if shape.keys.contains_key("multipleOf") || whole {
        let up = (value / step).ceil() * step;
        value = if most.is_some_and(|most| up > most) { (value / step).floor() * step } else { up };
    }
    match value.fract() == 0.0 && value.abs() < 9e15 {
        true => Some(Value::from(value as i64)),
        false => Number::from_f64(value).map(Value::Number),
    }
}
