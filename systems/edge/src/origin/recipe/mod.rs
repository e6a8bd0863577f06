//! Recipes: what a route serves, and when. Pure: text in, recipes or all their problems out.
//!
//! `notation` knows sizes and durations, `reader` walks what was given and collects what is wrong,
//! `stages` and `source` read what their names say.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use self::reader::Reader;
use super::timeline::Timeline;

mod notation;
mod reader;
mod source;
mod stages;
#[cfg(test)]
mod tests;

/// The route of a recipe that names none.
pub const EVERYWHERE: &str = "/*";

/// Recipes in one text.
const MOST_RECIPES: usize = 10_000;
/// The keys that every shown recipe has; those that were not given have a default.
const TOLD: [&str; 6] = ["origin", "body", "random_content", "stages", "headers", "route"];
/// Keys that OriginSimulator does not have; they are shown where they were given.
const BESIDE: [&str; 3] = ["seed", "loop", "interpolate"];

/// What one route serves, and when.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Its place in the text: `$`, or `$[1]`.
    pub at: String,
    /// An exact path, or a prefix if it ends in `*`.
    pub route: String,
    /// Where the payload comes from.
    pub source: Source,
    /// Headers of the answers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What holds when.
    pub timeline: Timeline,
    /// Of its draws, if not the system's.
    pub seed: Option<u64>,
    /// As it is shown: with every key, those that were not given included.
    pub given: Value,
    /// Keys that mean nothing, by their places.
    pub ignored: Vec<String>,
}

/// Where a payload comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Fetched once.
    Origin(Uri),
    /// Made of these.
    Pieces(Vec<Piece>),
}

/// A part of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// So many random printable characters.
    Random(u64),
}

impl Piece {
    /// Bytes that it comes to.
    pub fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Random(size) => *size,
        }
    }
}

/// What is wrong with a recipe, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Such as `$[1].stages[0].latency`; `$` is the whole.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

impl Problem {
    /// A problem at a place.
    pub fn of(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl Recipe {
    /// Whether answers are to be compressed.
    pub fn is_gzip(&self) -> bool {
        self.coding().is_some_and(|coding| coding == "gzip")
    }

    /// The coding that its headers name.
    pub fn coding(&self) -> Option<&HeaderValue> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == "content-encoding")?;
        Some(value)
    }
}

/// Reads one recipe, or an array of them, whose payloads have so many bytes at most.
///
/// Errors: every problem at once, recipe after recipe; never none
pub fn read(text: &[u8], most_payload: u64) -> Result<Vec<Recipe>, Vec<Problem>> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| vec![Problem::of("$", format!("this is no JSON: {error}"))])?;
    let mut reader = Reader::new(most_payload);
    let recipes: Vec<Recipe> = match &value {
        Value::Array(all) if all.len() > MOST_RECIPES => {
            reader.wrong("$", format!("there may be {MOST_RECIPES} recipes, not {}", all.len()));
            Vec::new()
        }
        Value::Array(all) => {
            let read = |(place, one)| recipe(&mut reader, &format!("$[{place}]"), one);
            all.iter().enumerate().filter_map(read).collect()
        }
        one => recipe(&mut reader, "$", one).into_iter().collect(),
    };
    report_duplicates(&mut reader, &recipes);
    reader.finish().map(|()| recipes)
}

/// Of two recipes for one route the first would never be served.
fn report_duplicates(reader: &mut Reader, recipes: &[Recipe]) {
    let mut places: HashMap<&str, &str> = HashMap::with_capacity(recipes.len());
    for recipe in recipes {
        match places.entry(&recipe.route) {
            Entry::Occupied(first) => {
                let reason = format!("{} has the route {} already", first.get(), recipe.route);
                reader.wrong(format!("{}.route", recipe.at), reason);
            }
            Entry::Vacant(place) => {
                place.insert(&recipe.at);
            }
        }
    }
}

/// One recipe; `None` only if something of it is wrong.
fn recipe(reader: &mut Reader, at: &str, value: &Value) -> Option<Recipe> {
    let fields = reader.object(at, value, "a recipe")?;
    let before = reader.ignored.len();
    reader.ignore(at, fields, &[&TOLD[..], &BESIDE[..]].concat());
    let source = source::read(reader, at, fields);
    let timeline = stages::read(reader, at, fields);
    let headers = source::headers(reader, at, fields);
    let route = source::route(reader, at, fields);
    let seed = reader.seed(at, fields);
    let ignored = reader.ignored.split_off(before);
    let given = as_given(fields);
    let at = at.to_owned();
    Some(Recipe { at, route: route?, source: source?, headers, timeline, seed, given, ignored })
}

fn as_given(fields: &Map<String, Value>) -> Value {
    let given = |key: &str| fields.get(key).filter(|value| !value.is_null()).cloned();
    let mut told = json!({
        "origin": null, "body": null, "random_content": null,
        "stages": [], "headers": {}, "route": EVERYWHERE,
    });
    for key in TOLD.iter().chain(&BESIDE) {
        if let Some(value) = given(key) {
            told[key] = value;
        }
    }
    told
}
