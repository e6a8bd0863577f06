//! Rows of data for templates.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::hash;

/// A table of data: named columns of text. Serialised as its size and digest, not its content.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The file that it came from.
    pub file: String,
    columns: Vec<String>,
    /// All values, one after the other.
    text: String,
    /// End of each value in `text`, row by row.
    ends: Vec<usize>,
}

/// Why the data cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// There are no rows.
    Empty,
    /// A line is invalid.
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it holds no row"),
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
        }
    }
}

impl Rows {
    /// Parses CSV with a header line, or JSON lines if the name ends in `.jsonl`, `.ndjson` or
    /// `.json`.
    ///
    /// Errors: no rows; a line of another width; a line that is not a JSON object
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, RowsError> {
        let json = [".jsonl", ".ndjson", ".json"].iter().any(|suffix| file.ends_with(suffix));
        let rows = if json { Self::json_lines(file, bytes)? } else { Self::csv(file, bytes)? };
        if rows.is_empty() { Err(RowsError::Empty) } else { Ok(rows) }
    }

    /// Rows of JSON objects; the keys of the first are the columns.
    ///
    /// Errors: an object without one of the columns, numbered from 1
    pub fn from_objects(
        file: &str,
        objects: impl IntoIterator<Item = (u64, Json)>,
    ) -> Result<Self, RowsError> {
        let mut rows = Self::empty(file);
        for (line, object) in objects {
            let Json::Object(object) = object else {
                return Err(RowsError::Line { line, what: "expected an object".into() });
            };
            if rows.columns.is_empty() {
                rows.columns = object.keys().cloned().collect();
            }
            for at in 0..rows.columns.len() {
                match object.get(&rows.columns[at]) {
                    Some(Json::String(text)) => rows.push(text),
                    Some(other) => rows.push(&other.to_string()),
                    None => {
                        let what = format!("no `{}`, which the first row has", rows.columns[at]);
                        return Err(RowsError::Line { line, what });
                    }
                }
            }
        }
        Ok(rows)
    }

    fn empty(file: &str) -> Self {
        Self { file: file.into(), columns: Vec::new(), text: String::new(), ends: Vec::new() }
    }

    fn csv(file: &str, bytes: &[u8]) -> Result<Self, RowsError> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(bytes);
        let header = reader.headers().map_err(csv_problem)?;
        let mut rows = Self::empty(file);
        rows.columns = header.iter().map(str::to_owned).collect();
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(csv_problem)? {
            record.iter().for_each(|field| rows.push(field));
        }
        Ok(rows)
    }

    fn json_lines(file: &str, bytes: &[u8]) -> Result<Self, RowsError> {
        let mut objects = Vec::new();
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let object = serde_json::from_slice(text)
                .map_err(|error| RowsError::Line { line, what: error.to_string() })?;
            objects.push((line, object));
        }
        Self::from_objects(file, objects)
    }

    fn push(&mut self, value: &str) {
        self.text.push_str(value);
        self.ends.push(self.text.len());
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Index of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in this row and column; both must exist.
    pub fn value(&self, row: usize, column: usize) -> &str {
        let at = row * self.columns.len() + column;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    fn digest(&self) -> String {
        let ends: Vec<u8> = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        let columns = self.columns.join("\n");
        hash::hex(&[columns.as_bytes(), self.text.as_bytes(), &ends])
    }
}

fn csv_problem(error: csv::Error) -> RowsError {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} fields, got {len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    RowsError::Line { line, what }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Rows", 4)?;
        fields.serialize_field("file", &self.file)?;
        fields.serialize_field("columns", &self.columns)?;
        fields.serialize_field("count", &self.len())?;
        fields.serialize_field("digest", &self.digest())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_with_header() {
        let rows = Rows::parse("q.csv", b"id,query\n1,\"a, b\"\n2,\xc3\xa9\n").unwrap();
        assert_eq!((rows.len(), rows.column("query")), (2, Some(1)));
        assert_eq!((rows.value(0, 1), rows.value(1, 0), rows.value(1, 1)), ("a, b", "2", "é"));
    }

    #[test]
    fn json_lines() {
        let rows = Rows::parse("q.jsonl", b"{\"a\":1,\"b\":\"x\"}\n\n{\"b\":\"y\",\"a\":[2]}\n");
        let rows = rows.unwrap();
        assert_eq!(rows.columns(), ["a", "b"]);
        assert_eq!((rows.value(0, 0), rows.value(1, 0), rows.value(1, 1)), ("1", "[2]", "y"));
    }

    #[test]
    fn problems_name_the_line() {
        let problem =
            |file: &str, text: &str| Rows::parse(file, text.as_bytes()).unwrap_err().to_string();
        assert_eq!(problem("a.csv", "a,b\n1,2\n3\n"), "line 3: expected 2 fields, got 1");
        assert_eq!(problem("a.csv", "a,b\n"), "it holds no row");
        assert_eq!(
            problem("a.jsonl", "{\"a\":1}\n{\"b\":1}\n"),
            "line 2: no `a`, which the first row has"
        );
        assert!(problem("a.jsonl", "nonsense\n").starts_with("line 1: "));
    }
}
