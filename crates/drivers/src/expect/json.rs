//! Values in a JSON body, found by their path.

use std::borrow::Cow;

use serde_json::Value;
use serde_json_path::{JsonPath, NodeList};

use crate::http::answer::BODY_LIMIT;

/// Bytes of the longest path.
const LONGEST: usize = 1_024;
/// How deep brackets and parentheses may nest: the parser recurses, and tries some of what it reads several times.
const DEEPEST: usize = 8;
/// How often a path may search everything below a place (`..`): each search may find as much as the body holds.
const MOST_SEARCHES: usize = 2;
/// Bytes of the longest body that a path with so many searches is looked for in: about half a second in the worst case.
const READS: [usize; MOST_SEARCHES + 1] = [BODY_LIMIT, 4 << 20, 64 << 10];

/// A path of RFC 9535, with `.length()` at its end if the length of what stands there is meant.
#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    path: JsonPath,
    /// What it goes through the elements of, where it may find several values.
    list: Option<JsonPath>,
    of_length: bool,
    reads: usize,
}

impl Path {
    /// Compiles it.
    ///
    /// Errors: what is wrong with it
    pub fn compile(text: &str) -> Result<Self, String> {
        let (inner, of_length) = match text.strip_suffix(".length()") {
            Some(inner) => (inner, true),
            None => (text, false),
        };
        bound(inner)?;
        let path = JsonPath::parse(inner).map_err(|error| error.to_string())?;
        let list = before_several(inner).and_then(|before| JsonPath::parse(before).ok());
        Ok(Self { text: text.to_owned(), path, list, of_length, reads: reads(inner) })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes of the longest body that it is looked for in.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// The one value at the path.
    ///
    /// Errors: what was seen instead
    pub fn value(&self, body: &Value) -> Result<Value, String> {
        let nodes = self.path.query(body);
        let node = Self::one(&nodes)?;
        if self.of_length { length(node) } else { Ok(node.clone()) }
    }

    /// Every value at the path, in order.
    pub fn values<'a>(&self, body: &'a Value) -> impl Iterator<Item = Cow<'a, Value>> {
        let of_length = self.of_length;
        self.path.query(body).all().into_iter().filter_map(move |node| match of_length {
            true => length(node).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(node)),
        })
    }

    /// Whether the list whose elements it goes through is there, perhaps without any.
    pub fn has_list(&self, body: &Value) -> bool {
        let is_list = |node: &Value| node.is_array() || node.is_object();
        self.list.as_ref().is_some_and(|list| list.query(body).all().into_iter().any(is_list))
    }

    /// The number at the path; `NaN` where there is none.
    pub fn number(&self, body: &Value) -> f64 {
        self.value(body).ok().and_then(|value| value.as_f64()).unwrap_or(f64::NAN)
    }

    fn one<'a>(nodes: &NodeList<'a>) -> Result<&'a Value, String> {
        match nodes.len() {
            0 => Err("absent".to_owned()),
            1 => nodes.exactly_one().map_err(|error| error.to_string()),
            several => Err(format!("{several} values")),
        }
    }
}

/// Refuses paths that take the parser, or a search of a large body, without end.
fn bound(path: &str) -> Result<(), String> {
    if path.len() > LONGEST {
        return Err(format!("{} bytes are more than {LONGEST}", path.len()));
    }
    let path = unquoted(path);
    let mut depth = 0_usize;
    for letter in path.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("it nests deeper than {DEEPEST} brackets"));
        }
    }
    let searches = path.matches("..").count();
    if searches > MOST_SEARCHES {
        return Err(format!("it has `..` {searches} times; the limit is {MOST_SEARCHES}"));
    }
    Ok(())
}

/// Bytes of the longest body that this path is looked for in.
fn reads(path: &str) -> usize {
    let path = unquoted(path);
    // One that begins at the root within a filter is looked for once for each element.
    let within = path.match_indices('$').nth(1).map_or("", |(at, _)| &path[at..]);
    let every = within.contains(['*', '?', ':', ',']) || within.contains("..");
    let searches = if every { MOST_SEARCHES } else { path.matches("..").count() };
    READS[searches.min(MOST_SEARCHES)]
}

/// The path without what stands between quotes.
fn unquoted(path: &str) -> String {
    let (mut quote, mut escaped) = (None, false);
    let mut outside = String::with_capacity(path.len());
    for letter in path.chars() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, _) => outside.push(letter),
        }
    }
    outside
}

/// The path up to the first segment that may find several values: `..`, a wildcard, a slice, a filter, a union.
fn before_several(path: &str) -> Option<&str> {
    let (mut quote, mut escaped, mut bracket) = (None, false, None);
    for (at, letter) in path.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => bracket = Some(at),
            (None, ']') => bracket = None,
            (None, '*' | '?' | ':' | ',') => {
                return Some(path[..bracket.unwrap_or(at)].trim_end_matches('.'));
            }
            (None, '.') if path[at..].starts_with("..") => return Some(&path[..at]),
            (None, _) => {}
        }
    }
    None
}

fn length(value: &Value) -> Result<Value, String> {
    match value {
        Value::Array(elements) => Ok(elements.len().into()),
        Value::Object(members) => Ok(members.len().into()),
        Value::String(text) => Ok(text.chars().count().into()),
        other => Err(format!("{other}, which has no length")),
    }
}

/// Whether two values are the same, 10 and 10.0 being one number.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, a)| other.get(key).is_some_and(|b| same(a, b)))
        }
        _ => left == right,
    }
}
