//! What metadata a namespace takes: fields with types, defaults and sizes, and which are indexed.
//!
//! A schema is read once, when it is put, and refused whole if anything in it is wrong. Metadata are
//! checked against it when they are registered; those that were registered before stay as they are.
//! `SCHEMAS.md` beside this crate describes both. In reading order: [`field`] is what a
//! schema says, [`read`] makes it from JSON, [`check`] holds metadata against it.

mod check;
mod faults;
mod field;
mod read;

use std::io;

use serde_json::{Map, Value};

use crate::fault::{Code, Fault};
use crate::identity::Millis;
use field::Members;
use filtering::path::Path;
use filtering::value::is_nested_within;

/// How deep metadata may be nested.
const DEEPEST: usize = 16;

/// Where metadata stand in a request.
const PLACE: &str = "/metadata";

/// What metadata a namespace takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    members: Members,
}

impl Schema {
    /// Reads a schema.
    ///
    /// Errors: `INVALID_SCHEMA` at the first thing that is wrong, the others named in its message
    pub fn parse(schema: &Value) -> Result<Self, Fault> {
        read::read(schema).map(|members| Self { members })
    }

    /// The fields to index, as [`crate::store::view::View::new`] takes them.
    pub fn indexes(&self) -> Vec<String> {
        let mut indexes = Vec::new();
        add_indexes(&self.members, &mut Vec::new(), &mut indexes);
        indexes
    }

    /// Metadata as they are registered: checked, with defaults put in and timestamps in one form.
    ///
    /// Errors: `INVALID_METADATA` at the first thing that is wrong below `/metadata`, the others
    /// named in its message
    pub fn apply(
        &self,
        mut metadata: Map<String, Value>,
        now: Millis,
    ) -> Result<Map<String, Value>, Fault> {
        check::check(&self.members, &mut metadata, PLACE, now)
            .result(Code::InvalidMetadata)
            .map(|()| metadata)
    }
}

fn add_indexes(members: &Members, steps: &mut Vec<String>, indexes: &mut Vec<String>) {
    for (name, field) in &members.fields {
        steps.push(name.clone());
        if field.is_indexed
            && let Ok(path) = Path::of(steps.clone())
        {
            indexes.push(path.to_string());
        }
        if let Some(members) = field.kind.members() {
            add_indexes(members, steps, indexes);
        }
        steps.pop();
    }
}

/// Refuses metadata that are too large, as JSON without white space, or too deep. To be asked
/// before anything else looks at them.
///
/// Errors: `INVALID_METADATA` at `/metadata`
pub fn check_size(metadata: &Map<String, Value>, most_bytes: usize) -> Result<(), Fault> {
    let refuse = |message| Err(Fault::new(Code::InvalidMetadata, message).at(PLACE));
    if !metadata.values().all(|value| is_nested_within(value, DEEPEST - 1)) {
        return refuse(format!("metadata nest at most {DEEPEST} deep"));
    }
    let mut size = Size(0);
    serde_json::to_writer(&mut size, metadata).expect("counting never fails");
    match size.0 > most_bytes {
        true => refuse(format!("metadata have at most {most_bytes} bytes, these {}", size.0)),
        false => Ok(()),
    }
}

/// Counts what is written.
struct Size(usize);

impl io::Write for Size {
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
