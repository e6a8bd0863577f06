//! What is known about rows besides where they are: text, metadata, and a vector that was given with it.
//!
//! Without a folder they are in memory; with one they are in a file there, and in memory only as far as its cache.

pub(crate) mod disk;
mod memory;
pub(crate) mod origin;

use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::api_error::ApiError;
use crate::row::Row;
use disk::{Disk, Write};
use memory::Memory;

/// What is known about a row.
#[derive(Debug, Clone)]
pub struct Record {
    /// What was embedded.
    pub text: Box<str>,
    /// Its metadata as JSON, ready to be put into an answer.
    pub metadata: Box<RawValue>,
    /// The vector that was given in the place of the text's embedding.
    pub vector: Option<Box<[f32]>>,
}

impl Record {
    /// The row as it was taken.
    pub(crate) fn row(&self, id: Box<str>) -> Row {
        Row {
            id: id.into_string(),
            text: self.text.to_string(),
            // What was written was an object.
            metadata: serde_json::from_str(self.metadata.get()).unwrap_or_default(),
            vector: self.vector.as_deref().map(<[f32]>::to_vec),
        }
    }
}

/// A row's name and its record.
pub type Named = (Box<str>, Arc<Record>);

/// Some changes, made in this order.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Whether everything is forgotten first.
    pub drop: bool,
    /// Rows to insert, or to put in the place of those of their names.
    pub rows: Vec<Row>,
    /// Names of rows to delete; those that are not there are no error.
    pub delete: Vec<String>,
}

/// Where records are; clones are the same place.
#[derive(Debug, Clone)]
pub struct Metadata(Arc<MetadataStore>);

#[derive(Debug)]
enum MetadataStore {
    Memory(Memory),
    Disk(Disk),
}

impl Metadata {
    /// Opens what is kept in a folder, or begins in memory.
    ///
    /// Errors: `Unavailable` if the file cannot be read, or if another process has it open
    pub fn open(folder: Option<&Path>) -> Result<Self, ApiError> {
        let place = match folder {
            None => MetadataStore::Memory(Memory::default()),
            Some(folder) => MetadataStore::Disk(Disk::open(&folder.join(disk::FILE))?),
        };
        Ok(Self(Arc::new(place)))
    }

    /// Makes changes; returns when they are where they are to be, on the disk if there is a folder.
    ///
    /// All but the waiting for the disk is done on the thread that calls, some microseconds a row.
    ///
    /// Errors: `Unavailable` if the disk does not take them; then all of them were made or none
    pub async fn write(&self, changes: Changes) -> Result<(), ApiError> {
        match &*self.0 {
            #[cfg(test)]
            MetadataStore::Memory(memory)
                if memory.failing.lock().unwrap().pop_front().unwrap_or_default() =>
            {
                return Err(ApiError::unavailable("the disk is full", std::time::Duration::ZERO));
            }
            MetadataStore::Memory(memory) => memory.write(changes),
            MetadataStore::Disk(disk) => return disk.write(Write::of_rows(changes)).await,
        }
        Ok(())
    }

    /// The records of rows, in the order of their names; none for a row that is not there.
    ///
    /// Errors: `Unavailable` if the disk cannot be read
    pub fn get<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<Option<Arc<Record>>>, ApiError> {
        match &*self.0 {
            MetadataStore::Memory(memory) => Ok(memory.get(ids)),
            MetadataStore::Disk(disk) => disk.get(ids),
        }
    }

    /// Some records, in the order of their names, from behind a name on: all of them, where each call is given the
    /// last name of the one before.
    ///
    /// Errors: `Unavailable` if the disk cannot be read
    pub fn after(&self, id: &str, most: usize) -> Result<Vec<Named>, ApiError> {
        match &*self.0 {
            MetadataStore::Memory(memory) => Ok(memory.after(id, most)),
            MetadataStore::Disk(disk) => disk.after(id, most),
        }
    }

    /// How many rows there are.
    ///
    /// Errors: `Unavailable` if the disk cannot be read
    pub fn size(&self) -> Result<u64, ApiError> {
        match &*self.0 {
            MetadataStore::Memory(memory) => Ok(memory.size()),
            MetadataStore::Disk(disk) => disk.size(),
        }
    }

    /// Has some of the next writes fail, of a place in memory.
    #[cfg(test)]
    pub(crate) fn fail(&self, writes: &[bool]) {
        if let MetadataStore::Memory(memory) = &*self.0 {
            *memory.failing.lock().unwrap() = writes.iter().copied().collect();
        }
    }

    /// How often the disk was waited for, each time for all who were writing; 0 in memory.
    pub fn commits(&self) -> u64 {
        self.disk().map_or(0, Disk::commits)
    }

    /// The configuration in force, for the ready line.
    pub fn effective(&self) -> Value {
        match &*self.0 {
            MetadataStore::Memory(_) => json!({ "metadata": "memory" }),
            MetadataStore::Disk(disk) => json!({ "metadata": disk.path() }),
        }
    }

    /// The file, for what else is kept in it.
    pub(crate) fn disk(&self) -> Option<&Disk> {
        match &*self.0 {
            MetadataStore::Memory(_) => None,
            MetadataStore::Disk(disk) => Some(disk),
        }
    }
}

fn json(metadata: &Map<String, Value>) -> Box<RawValue> {
    serde_json::value::to_raw_value(metadata).expect("JSON values always serialize")
}

#[cfg(test)]
pub(crate) mod tests;
