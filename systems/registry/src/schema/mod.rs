//! The schema of a namespace's metadata: fields with types, defaults and sizes, and indexes.
//!
//! A schema is parsed once, when it is put, and refused completely if any part is wrong. Metadata
//! are checked when they are registered; earlier registrations stay unchanged. `SCHEMAS.md` next to
//! this crate describes both. In reading order: [`field`] defines a schema's fields, [`read`]
//! parses them, [`check`] checks metadata.

mod check;
mod errors;
mod field;
mod read;

use std::io;

use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code};
use crate::identity::Millis;
use field::ObjectFields;
use filtering::path::Path;
use filtering::value::is_nested_within;

/// Deepest nesting of metadata.
const DEEPEST: usize = 16;

/// The place of metadata in a request.
const PLACE: &str = "/metadata";

/// The schema of a namespace's metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    object_fields: ObjectFields,
}

impl Schema {
    /// Parses a schema.
    ///
    /// Errors: `INVALID_SCHEMA` at the first problem, with the others in its message
    pub fn parse(schema: &Value) -> Result<Self, ApiError> {
        read::read(schema).map(|object_fields| Self { object_fields })
    }

    /// The fields to index, as [`crate::store::view::View::new`] takes them.
    pub fn indexes(&self) -> Vec<String> {
        let mut indexes = Vec::new();
        add_indexes(&self.object_fields, &mut Vec::new(), &mut indexes);
        indexes
    }

    /// Checks metadata; returns them with defaults filled in and timestamps normalised.
    ///
    /// Errors: `INVALID_METADATA` at the first problem below `/metadata`, with the others in its
    /// message
    pub fn apply(
        &self,
        mut metadata: Map<String, Value>,
        now: Millis,
    ) -> Result<Map<String, Value>, ApiError> {
        check::check(&self.object_fields, &mut metadata, PLACE, now)
            .result(Code::InvalidMetadata)
            .map(|()| metadata)
    }
}

fn add_indexes(object_fields: &ObjectFields, steps: &mut Vec<String>, indexes: &mut Vec<String>) {
    for (name, field) in &object_fields.fields {
        steps.push(name.clone());
        if field.is_indexed
            && let Ok(path) = Path::of(steps.clone())
        {
            indexes.push(path.to_string());
        }
        if let Some(object_fields) = field.kind.object_fields() {
            add_indexes(object_fields, steps, indexes);
        }
        steps.pop();
    }
}

/// Refuses metadata that are too large, as JSON without white space, or too deep. Call it before
/// other checks.
///
/// Errors: `INVALID_METADATA` at `/metadata`
pub fn check_size(metadata: &Map<String, Value>, most_bytes: usize) -> Result<(), ApiError> {
    let refuse = |message| Err(ApiError::new(Code::InvalidMetadata, message).at(PLACE));
    if !metadata.values().all(|value| is_nested_within(value, DEEPEST - 1)) {
        return refuse(format!("metadata must nest at most {DEEPEST} deep"));
    }
    let mut size = ByteCounter(0);
    serde_json::to_writer(&mut size, metadata).expect("counting never fails");
    match size.0 > most_bytes {
        true => refuse(format!("metadata must have at most {most_bytes} bytes (got {})", size.0)),
        false => Ok(()),
    }
}

/// Counts written bytes.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
