//! What stands at a place in a short JSON text, found without building the value.
//!
//! An event of a stream is looked at once and never again: a path of names and indices is walked while the text is
//! parsed, and nothing is allocated. Other paths go the usual way.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::Path;

/// A path that is looked for in many short texts.
#[derive(Debug, Clone)]
pub struct Place {
    path: Path,
    /// The path, if each of its segments is one name or one index.
    steps: Option<Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// Nothing, `null` or an empty text; or the text is not JSON.
    Nothing,
    /// This number.
    Number(f64),
    /// Anything else.
    Something,
}

impl Place {
    /// Compiles it.
    ///
    /// Errors: what is wrong with the path
    pub fn compile(text: &str) -> Result<Self, String> {
        Ok(Self { path: Path::compile(text)?, steps: steps(text) })
    }

    /// As written.
    pub fn text(&self) -> &str {
        self.path.text()
    }

    /// What stands there.
    ///
    /// Cost:   O(n) time; no allocation for a path of names and indices
    pub fn find(&self, text: &[u8]) -> Found {
        match &self.steps {
            Some(steps) => walk(steps, text).map_or(Found::Nothing, classify),
            None => self.value(text).map_or(Found::Nothing, |raw| classify(&raw)),
        }
    }

    /// What stands there, as JSON; nothing in a text that is longer than this path may be searched for in.
    ///
    /// Cost:   O(n) time; no allocation for a path of names and indices
    pub fn raw<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, str>> {
        match &self.steps {
            Some(steps) => walk(steps, text).map(Cow::Borrowed),
            None => self.value(text).map(Cow::Owned),
        }
    }

    /// What stands there, as JSON.
    fn value(&self, text: &[u8]) -> Option<String> {
        if text.len() > self.path.reads() {
            return None;
        }
        let value = serde_json::from_slice::<Value>(text).ok()?;
        self.path.value(&value).ok().map(|value| value.to_string())
    }
}

/// What stands at the end of these steps, as written.
fn walk<'t>(steps: &[Step], text: &'t [u8]) -> Option<&'t str> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let found = Walk(steps).deserialize(&mut deserializer).ok()?;
    found.filter(|_| deserializer.end().is_ok())
}

/// Whether this JSON is this text, or a number or truth value that is written so.
///
/// Cost:   no allocation where the text has no escapes
pub fn reads(raw: &str, wanted: &[u8]) -> bool {
    match raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if !text.contains('\\') => text.as_bytes() == wanted,
        Some(_) => serde_json::from_str(raw).is_ok_and(|text: String| text.as_bytes() == wanted),
        None => raw.as_bytes() == wanted,
    }
}

fn classify(raw: &str) -> Found {
    match raw.as_bytes() {
        b"null" | b"\"\"" => Found::Nothing,
        [b'-' | b'0'..=b'9', ..] => raw.parse().map_or(Found::Something, Found::Number),
        _ => Found::Something,
    }
}

/// The segments of a path such as `$.choices[0].delta['content']`; `None` if it has any other.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(|letter| !is_name(letter)).unwrap_or(name.len());
            let first = name.chars().next()?;
            if end == 0 || first.is_ascii_digit() {
                return None;
            }
            steps.push(Step::Member(name[..end].to_owned()));
            rest = &name[end..];
        } else {
            let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match inner.strip_prefix(['\'', '"']) {
                Some(name) => {
                    let name = name.strip_suffix(['\'', '"'])?;
                    if name.is_empty() || !name.chars().all(|one| is_name(one) || one == '-') {
                        return None;
                    }
                    Step::Member(name.to_owned())
                }
                None if inner.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Step::Element(inner.parse().ok()?)
                }
                None => return None,
            });
            rest = after;
        }
    }
    Some(steps)
}

/// Walks the steps that are left.
struct Walk<'p>(&'p [Step]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&'de RawValue>::deserialize(deserializer).map(|raw| Some(raw.get()));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let name = match self.0 {
            [Step::Member(name), ..] => name.as_str(),
            _ => "",
        };
        while let Some(is_it) = map.next_key_seed(IsName(name))? {
            if is_it && matches!(self.0[0], Step::Member(_)) {
                found = map.next_value_seed(Walk(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        for place in 0.. {
            let seen = match &self.0[0] {
                Step::Element(wanted) if *wanted == place => {
                    list.next_element_seed(Walk(&self.0[1..]))?.map(|value| found = value)
                }
                _ => list.next_element::<IgnoredAny>()?.map(|_| ()),
            };
            if seen.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a key is this name.
struct IsName<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: Found) {
        let place = Place::compile(path).expect("a path");
        assert_eq!(place.find(text.as_bytes()), expected, "{path} in {text}");
        let slow = Place { steps: None, ..place };
        assert_eq!(slow.find(text.as_bytes()), expected, "the usual way: {path} in {text}");
    }

    #[test]
    fn both_ways_find_the_same() {
        let chunk =
            r#"{"id":"x","choices":[{"index":0,"delta":{"content":"tok\n"}}],"usage":null}"#;
        check("$.choices[0].delta.content", chunk, Found::Something);
        check("$['choices'][0]['delta'].content", chunk, Found::Something);
        check("$.choices[0].index", chunk, Found::Number(0.0));
        check("$.choices[1].index", chunk, Found::Nothing);
        check("$.usage", chunk, Found::Nothing);
        check("$.usage.completion_tokens", chunk, Found::Nothing);
        check("$.id.x", chunk, Found::Nothing);
        check("$", chunk, Found::Something);
        check("$.a", r#"{"a":""}"#, Found::Nothing);
        check("$.a", r#"{"a":-1.5e3}"#, Found::Number(-1500.0));
        check("$.a", r#"{"a":[1,{"b":2}]}"#, Found::Something);
        check("$.a", r#"{"b":{"a":1}}"#, Found::Nothing);
        check("$.a", r#"{"a":1} trailing"#, Found::Nothing);
        check("$.a", "[DONE]", Found::Nothing);
        check("$.a", "", Found::Nothing);
        check("$[1]", "[1,2,3]", Found::Number(2.0));
        check("$.a[0]", r#"{"a":{"0":1}}"#, Found::Nothing);
        check("$.a", r#"[{"a":1}]"#, Found::Nothing);
    }

    #[test]
    fn other_paths_go_the_usual_way() {
        for path in ["$..a", "$.a[*]", "$.a[-1]", "$.a[0:2]", "$.a[?@.b]", "$.a.length()"] {
            assert_eq!(steps(path), None, "{path}");
        }
        let place = Place::compile("$.a[-1]").unwrap();
        assert_eq!(place.find(br#"{"a":[1,2]}"#), Found::Number(2.0));
    }

    #[test]
    fn deep_nesting_is_refused_as_usual() {
        let deep = "[".repeat(100_000);
        assert_eq!(Place::compile("$[0]").unwrap().find(deep.as_bytes()), Found::Nothing);
    }
}
