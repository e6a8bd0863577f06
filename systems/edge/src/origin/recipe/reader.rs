//! Walks what was given as a recipe, and collects what is wrong with it.

use serde_json::{Map, Value};

use super::Problem;

/// Problems that are listed; of more there is only the number.
const MOST_PROBLEMS: usize = 100;
/// Ignored keys that are remembered.
const MOST_IGNORED: usize = 100;
/// Characters of a wrong value that are quoted.
const QUOTED: usize = 60;

/// Collects problems, and keys that mean nothing.
pub(super) struct Reader {
    /// Bytes that a payload has at most.
    pub most_payload: u64,
    /// Places of keys that mean nothing.
    pub ignored: Vec<String>,
    problems: Vec<Problem>,
    untold: usize,
}

/// A key's value, `null` being as good as none.
pub(super) fn given<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| !value.is_null())
}

impl Reader {
    pub(super) fn new(most_payload: u64) -> Self {
        Self { most_payload, ignored: Vec::new(), problems: Vec::new(), untold: 0 }
    }

    /// Adds a problem.
    pub(super) fn wrong(&mut self, at: impl Into<String>, reason: impl Into<String>) {
        match self.problems.len() {
            MOST_PROBLEMS => self.untold += 1,
            _ => self.problems.push(Problem::of(at, reason)),
        }
    }

    /// Adds that something else was expected than what is there.
    pub(super) fn expected(&mut self, at: impl Into<String>, what: &str, got: &Value) {
        let mut quoted: String = got.to_string();
        if let Some((end, _)) = quoted.char_indices().nth(QUOTED) {
            quoted.truncate(end);
            quoted.push('…');
        }
        self.wrong(at, format!("expected {what}, got {quoted}"));
    }

    /// Errors: every problem
    pub(super) fn finish(mut self) -> Result<(), Vec<Problem>> {
        if self.untold > 0 {
            self.problems.push(Problem::of("$", format!("and {} problems more", self.untold)));
        }
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }

    /// Remembers keys that are none of these.
    pub(super) fn ignore(&mut self, at: &str, fields: &Map<String, Value>, known: &[&str]) {
        let unknown = fields.keys().filter(|key| !known.contains(&key.as_str()));
        let state = MOST_IGNORED.saturating_sub(self.ignored.len());
        self.ignored.extend(unknown.take(state).map(|key| format!("{at}.{key}")));
    }

    pub(super) fn object<'a>(
        &mut self,
        at: &str,
        value: &'a Value,
        what: &str,
    ) -> Option<&'a Map<String, Value>> {
        if !value.is_object() {
            self.expected(at, &format!("{what}, which is an object"), value);
        }
        value.as_object()
    }

    /// An array of at most so many; none if it is not given.
    pub(super) fn array<'a>(
        &mut self,
        at: &str,
        value: Option<&'a Value>,
        most: usize,
    ) -> Option<&'a [Value]> {
        match value {
            None => None,
            Some(Value::Array(all)) if all.len() <= most => Some(all),
            Some(Value::Array(all)) => {
                self.wrong(at, format!("there may be {most}, not {}", all.len()));
                None
            }
            Some(other) => {
                self.expected(at, "an array", other);
                None
            }
        }
    }

    /// A text, if one is given.
    pub(super) fn text<'a>(
        &mut self,
        at: &str,
        fields: &'a Map<String, Value>,
        key: &str,
    ) -> Option<&'a str> {
        let value = given(fields, key)?;
        if !value.is_string() {
            self.expected(format!("{at}.{key}"), "a string", value);
        }
        value.as_str()
    }

    /// `true` or `false`, which is the default.
    pub(super) fn flag(&mut self, at: &str, fields: &Map<String, Value>, key: &str) -> bool {
        let Some(value) = given(fields, key) else { return false };
        if !value.is_boolean() {
            self.expected(format!("{at}.{key}"), "true or false", value);
        }
        value == true
    }

    /// The seed, if one is given.
    pub(super) fn seed(&mut self, at: &str, fields: &Map<String, Value>) -> Option<u64> {
        let value = given(fields, "seed")?;
        if value.as_u64().is_none() {
            self.expected(format!("{at}.seed"), "a whole number from 0 on", value);
        }
        value.as_u64()
    }
}
