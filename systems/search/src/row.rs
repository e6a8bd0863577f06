//! What is searched: a row, and how rows are read, one by one, so that a bad one is named and the others are taken.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code};
use crate::embed::has_direction;

/// Longest text of a row, and of a query, in bytes.
pub const LONGEST_TEXT: usize = 8 * 1024;

/// Longest name of a row, in characters.
pub const LONGEST_ID: usize = 128;

/// Longest metadata of a row, as JSON without spaces, in bytes.
pub const LONGEST_METADATA: usize = 16 * 1024;

/// How deep objects and lists may be within each other in a row's metadata, itself counted.
pub const DEEPEST_METADATA: usize = 5;

/// How many names a row's metadata may have, on all levels.
pub const MOST_FIELDS: usize = 256;

/// How many refused rows are listed.
pub const REFUSED_TOLD: usize = 100;

/// A row, checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// Its name: 1 to [`LONGEST_ID`] printable characters.
    pub id: String,
    /// What is embedded, at most [`LONGEST_TEXT`] bytes: as given, or rendered from the metadata by [`text_of`].
    pub text: String,
    /// What filters may ask about and answers show.
    pub metadata: Map<String, Value>,
    /// The vector that replaces the text's embedding: finite numbers, not all 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
}

/// A row in a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowBody {
    id: String,
    text: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    vector: Option<Vec<f32>>,
}

impl Row {
    /// Reads a row, `{"id", "text"?, "metadata"?, "vector"?}`.
    ///
    /// Errors: `InvalidRow` with the place within the row (`/metadata/skills/0`)
    pub fn read(json: &[u8]) -> Result<Self, ApiError> {
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(no_object());
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let given =
            serde_path_to_error::deserialize(&mut reader).map_err(|error| misread(&error))?;
        reader.end().map_err(|error| ApiError::new(Code::InvalidRow, error_message(&error)))?;
        Self::checked(given)
    }

    /// The same of a row that was read as JSON before.
    ///
    /// Errors: as [`Self::read`]
    pub fn from_value(value: Value) -> Result<Self, ApiError> {
        if !value.is_object() {
            return Err(no_object());
        }
        let given = serde_path_to_error::deserialize(value).map_err(|error| misread(&error))?;
        Self::checked(given)
    }

    fn checked(given: RowBody) -> Result<Self, ApiError> {
        let RowBody { id, text, metadata, vector } = given;
        check_id(&id)?;
        check_metadata(&metadata)?;
        let text = text.unwrap_or_else(|| text_of(&metadata));
        check_text(&text)?;
        if let Some(vector) = &vector {
            check_vector(vector)?;
        }
        Ok(Self { id, text, metadata, vector })
    }
}

/// Reads one row a line, skipping empty lines.
///
/// Shape: a body → rows, and those that cannot be taken with their lines, counted from 1; in order
pub fn lines(body: &[u8]) -> impl Iterator<Item = Result<Row, Refused>> {
    body.split(|&byte| byte == b'\n')
        .zip(1..)
        .filter(|(line, _)| !line.trim_ascii().is_empty())
        .map(|(text, line)| {
            Row::read(text).map_err(|refusal| Refused { line: Some(line), refusal })
        })
}

/// Reads rows of a JSON list.
///
/// Shape: the list at `place` (a JSON pointer) → rows, and those that cannot be taken with their places; in order
pub fn list(place: &str, rows: Vec<Value>) -> impl Iterator<Item = Result<Row, Refused>> {
    rows.into_iter().enumerate().map(move |(number, row)| {
        Row::from_value(row).map_err(|mut refusal| {
            refusal.at = Some(format!("{place}/{number}{}", refusal.at.unwrap_or_default()));
            Refused { line: None, refusal }
        })
    })
}

/// A row that was not taken. As JSON: `{"line":17,"code":"INVALID_ROW","message":"…","at":"/text"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The line of the body, counted from 1, if it is read by lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why.
    #[serde(flatten)]
    pub refusal: ApiError,
}

/// Rows of a bulk.
#[derive(Debug, Default)]
pub struct RowReader {
    /// Those that are taken, in order.
    pub rows: Vec<Row>,
    /// The first [`REFUSED_TOLD`] of the others.
    pub refused: Vec<Refused>,
    /// How many others there are.
    pub refused_count: u64,
}

impl FromIterator<Result<Row, Refused>> for RowReader {
    fn from_iter<I: IntoIterator<Item = Result<Row, Refused>>>(read: I) -> Self {
        let mut bulk = Self::default();
        for row in read {
            match row {
                Ok(row) => bulk.rows.push(row),
                Err(refused) => {
                    bulk.refused_count += 1;
                    if bulk.refused.len() < REFUSED_TOLD {
                        bulk.refused.push(refused);
                    }
                }
            }
        }
        bulk
    }
}

/// The text of a row that was given none: what its metadata says, in the order of the keys' characters.
///
/// Texts as they are, numbers after their key (`years 7`), of booleans the keys that are true;
/// elements of a list or object separated by commas. Cut at [`LONGEST_TEXT`].
pub fn text_of(metadata: &Map<String, Value>) -> String {
    let mut text = String::new();
    say_all(metadata, &mut text);
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    }
    text
}

fn say_all(values: &Map<String, Value>, text: &mut String) {
    let mut values: Vec<(&String, &Value)> = values.iter().collect();
    values.sort_unstable_by_key(|(key, _)| *key);
    values.into_iter().for_each(|(key, value)| say(key, value, text));
}

fn say(key: &str, value: &Value, text: &mut String) {
    let mut part = |said: &[&str]| {
        if !text.is_empty() {
            text.push_str(", ");
        }
        said.iter().for_each(|part| text.push_str(part));
    };
    match value {
        Value::String(value) if value.is_empty() => {}
        Value::String(value) => part(&[value]),
        Value::Number(number) => part(&[key, " ", &number.to_string()]),
        Value::Bool(true) => part(&[key]),
        Value::Bool(false) | Value::Null => {}
        Value::Array(values) => values.iter().for_each(|value| say(key, value, text)),
        Value::Object(values) => say_all(values, text),
    }
}

fn invalid(message: impl Into<String>, at: impl Into<String>) -> ApiError {
    ApiError::new(Code::InvalidRow, message).at(at)
}

fn misread(error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let refusal = ApiError::new(Code::InvalidRow, error_message(error.inner()));
    let at = pointer(error.path());
    if at.is_empty() { refusal } else { refusal.at(at) }
}

/// Serde would take a list for the fields in their order.
fn no_object() -> ApiError {
    ApiError::new(Code::InvalidRow, "a row must be a JSON object")
}

/// The error without serde's line number: the caller adds the row's line.
fn error_message(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// A path of serde as a JSON pointer.
pub(crate) fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } | Segment::Enum { variant: key } => {
            format!("{pointer}/{}", escaped(key))
        }
        Segment::Unknown => pointer,
    })
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub(crate) fn check_id(id: &str) -> Result<(), ApiError> {
    let length = id.chars().count();
    if !(1..=LONGEST_ID).contains(&length) {
        let message = format!("a row's id must have 1 to {LONGEST_ID} characters (got {length})");
        return Err(invalid(message, "/id"));
    }
    match id.chars().find(|&character| !is_printable(character)) {
        None => Ok(()),
        Some(character) => {
            let message =
                format!("a row's id must have printable characters only (got {character:?})");
            Err(invalid(message, "/id"))
        }
    }
}

/// Neither a control character nor an invisible or bidirectional one; a combining mark is
/// printable.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // The standard library knows, but says so of strings only: what is printable is not escaped behind another one.
    let mut pair = [b'x'; 5];
    let length = 1 + character.encode_utf8(&mut pair[1..]).len();
    str::from_utf8(&pair[..length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
}

fn check_text(text: &str) -> Result<(), ApiError> {
    if text.len() <= LONGEST_TEXT {
        return Ok(());
    }
    let length = text.len();
    Err(invalid(
        format!("a row's text must have at most {LONGEST_TEXT} bytes (got {length})"),
        "/text",
    ))
}

fn check_vector(vector: &[f32]) -> Result<(), ApiError> {
    if let Some(number) = vector.iter().position(|value| !value.is_finite()) {
        return Err(invalid("this number is too large for a vector", format!("/vector/{number}")));
    }
    if !has_direction(vector) {
        return Err(invalid("a vector whose numbers are all 0 has no direction", "/vector"));
    }
    Ok(())
}

fn check_metadata(metadata: &Map<String, Value>) -> Result<(), ApiError> {
    let mut walk = Walk { place: String::from("/metadata"), names: 0 };
    walk.members(metadata, 1)?;
    let length = serde_json::to_vec(metadata).map_or(0, |json| json.len());
    if length <= LONGEST_METADATA {
        return Ok(());
    }
    let message =
        format!("metadata must have at most {LONGEST_METADATA} bytes as JSON (got {length})");
    Err(invalid(message, "/metadata"))
}

/// Goes through metadata, and knows where it is and how many names it has met.
struct Walk {
    place: String,
    names: usize,
}

impl Walk {
    /// Refuses what is deeper than [`DEEPEST_METADATA`], and the name beyond [`MOST_FIELDS`]; `depth` is that of the
    /// object.
    fn members(&mut self, members: &Map<String, Value>, depth: usize) -> Result<(), ApiError> {
        members.iter().try_for_each(|(key, value)| {
            self.names += 1;
            self.part(&escaped(key), value, depth + 1)
        })
    }

    fn part(&mut self, key: &str, value: &Value, depth: usize) -> Result<(), ApiError> {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(key);
        if self.names > MOST_FIELDS {
            return self.refuse(format!("metadata must have at most {MOST_FIELDS} names in all"));
        }
        match value {
            Value::Array(_) | Value::Object(_) if depth > DEEPEST_METADATA => {
                return self.refuse(format!("metadata must be at most {DEEPEST_METADATA} deep"));
            }
            Value::Array(values) => {
                for (number, value) in values.iter().enumerate() {
                    self.part(&number.to_string(), value, depth + 1)?;
                }
            }
            Value::Object(members) => self.members(members, depth)?,
            _ => {}
        }
        self.place.truncate(length);
        Ok(())
    }

    fn refuse(&mut self, message: String) -> Result<(), ApiError> {
        Err(invalid(message, std::mem::take(&mut self.place)))
    }
}

#[cfg(test)]
mod tests;
