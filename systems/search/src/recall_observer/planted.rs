//! Which row each query was made for, out of a file with the columns `query` and `id`.

use std::collections::HashMap;
use std::io::ErrorKind;

/// Where such a file comes from.
const MADE: &str = "it is a table with the columns `query` and `id`, as `cargo run -p search --example queries` writes it for the rows of `workers`";

/// Queries and the names of their rows.
#[derive(Debug, Default)]
pub(super) struct PlantedQueries(HashMap<String, String>);

impl PlantedQueries {
    /// Reads a file; no path is no file.
    ///
    /// Errors: a sentence with the path
    pub fn open(path: &str) -> Result<Self, String> {
        if path.is_empty() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("the file {path} does not exist; {MADE}"),
            _ => format!("{path}: {error}"),
        })?;
        Self::read(&text).map_err(|problem| format!("{path}: {problem}"))
    }

    pub fn read(text: &str) -> Result<Self, String> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().map_err(|error| error.to_string())?;
        let column = |name: &str| {
            let place = names.iter().position(|known| known == name);
            place.ok_or_else(|| format!("the column `{name}` is missing"))
        };
        let (query, id) = (column("query")?, column("id")?);
        let mut planted = HashMap::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            // A query that was made for no row in particular has none.
            let id = record.get(id).filter(|id| !id.is_empty());
            if let (Some(query), Some(id)) = (record.get(query), id) {
                planted.insert(query.to_owned(), id.to_owned());
            }
        }
        Ok(Self(planted))
    }

    /// The row that a query was made for.
    pub fn of(&self, query: &str) -> Option<&str> {
        self.0.get(query).map(String::as_str)
    }

    /// How many queries were made for a row.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_have_their_rows_or_none() {
        let planted = PlantedQueries::read("id,query\nw-1,\"a, b\"\n,free\n").unwrap();
        assert_eq!((planted.of("a, b"), planted.of("free"), planted.len()), (Some("w-1"), None, 1));
        assert!(PlantedQueries::read("query\na\n").unwrap_err().contains("`id`"));
        let told = PlantedQueries::open("/nonexistent").unwrap_err();
        assert!(
            told.contains("/nonexistent does not exist") && told.contains("--example queries"),
            "{told}"
        );
        assert_eq!(PlantedQueries::open("").unwrap().len(), 0);
    }
}
