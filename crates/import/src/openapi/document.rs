//! The text of an API description as a tree, and the references in it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::format::Unreadable;

/// References that lead to references are followed so many times.
const MOST_STEPS: usize = 64;
/// How deep a text may nest.
const DEEPEST: usize = 64;

/// An API description.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// All but `paths`.
    pub root: Map<String, Value>,
    /// In the order of the source.
    pub paths: Vec<(String, Value)>,
}

impl Document {
    /// The tree of a text.
    ///
    /// Errors: it is neither JSON nor YAML, with the line
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(text).map_err(|error| {
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                Unreadable::new(error.line(), format!("this cannot be read as JSON: {what}"))
            });
        }
        // Each of them is far beyond any description; `alias_limits` bounds what aliases unfold to.
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: DEEPEST,
                max_events: 20_000_000,
                max_nodes: 10_000_000,
                max_documents: 1,
            },
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let line = error.location().map(|place| place.line()).filter(|line| *line > 0);
            let what = error.without_snippet().to_string();
            let what = what.lines().next().unwrap_or_default().to_owned();
            Unreadable::new(
                line.and_then(|line| usize::try_from(line).ok()),
                format!("this cannot be read as YAML: {what}"),
            )
        })
    }

    /// What a value is, after its references; none if one of them leads out of the file or nowhere.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        let mut value = value;
        for _ in 0..MOST_STEPS {
            let Some(reference) = reference(value) else { return Some(value) };
            value = self.at(reference)?;
        }
        None
    }

    /// The value that a reference within the file leads to.
    pub fn at(&self, reference: &str) -> Option<&Value> {
        let mut tokens = reference.strip_prefix("#/")?.split('/').map(token);
        let first = tokens.next()?;
        let mut value = match first.as_str() {
            "paths" => {
                let path = tokens.next()?;
                self.paths.iter().find(|(known, _)| *known == path).map(|(_, value)| value)?
            }
            _ => self.root.get(&first)?,
        };
        for token in tokens {
            value = match value {
                Value::Object(entries) => entries.get(&token)?,
                Value::Array(values) => values.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }
}

/// The reference that a value is.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()
}

/// A token of a JSON pointer in an address, without its escapes.
fn token(escaped: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        match hex(&rest).filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// The byte that the next two hexadecimal digits stand for.
fn hex(rest: &std::str::Bytes<'_>) -> Option<u8> {
    let mut ahead = rest.clone();
    let digits = [ahead.next()?, ahead.next()?];
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Top)
    }
}

struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an API description")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "paths" => document.paths = map.next_value::<Ordered>()?.0,
                _ => {
                    document.root.insert(key, map.next_value()?);
                }
            }
        }
        Ok(document)
    }
}

/// Entries in the order of the source, which `serde_json::Map` does not keep.
struct Ordered(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Ordered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of paths")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Ordered(entries))
    }

    fn visit_unit<E>(self) -> Result<Ordered, E> {
        Ok(Ordered(Vec::new()))
    }
}
