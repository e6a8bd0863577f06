//! The rows in a file: what was acknowledged is there.

use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::intake::{CheckedBatch, CheckedRow};
use crate::api_error::{ApiError, Code};
use crate::guarded::Guarded;
use crate::watched::{Watched, check};

/// Name to row: in which write it came (8 bytes), its vector, its attributes as JSON.
const ROWS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rows");

/// Facts about the file.
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// The form of all this.
const VERSION: u64 = 1;

/// The name of the file in the folder.
const FILE: &str = "rows.redb";

/// The file of the rows.
#[derive(Debug)]
pub(super) struct Disk {
    database: Guarded<Database>,
    dimension: usize,
    watched: Arc<Watched>,
}

/// A row as the file has it.
#[derive(Debug)]
pub(super) struct StoredRow {
    pub(super) fresh: CheckedRow,
    pub(super) born: u64,
}

impl Disk {
    /// Opens or makes the file.
    ///
    /// Errors: a file that cannot be read, was found damaged, is of another form, or of vectors of another dimension
    pub(super) fn open(
        folder: &Path,
        dimension: usize,
        watched: Arc<Watched>,
    ) -> Result<Self, ApiError> {
        watched.admit()?;
        std::fs::create_dir_all(folder).map_err(|error| watched.unusable(error))?;
        let opened = watched.call(|| {
            let database = Guarded::new(Database::create(folder.join(FILE))?);
            let disk = Self { database, dimension, watched: watched.clone() };
            Ok(disk.settle()?.map(|()| disk))
        });
        opened?
    }

    /// The same at the start: all of the file is held against its checksums.
    ///
    /// Errors: likewise; a file that is damaged
    pub(super) fn open_whole(folder: &Path, dimension: usize) -> Result<Self, ApiError> {
        let watched = Watched::new("the rows on the disk", Some(folder.join(FILE)));
        let watched = Arc::new(watched);
        let mut disk = Self::open(folder, dimension, watched.clone())?;
        watched.call(|| check(&mut disk.database))?;
        Ok(disk)
    }

    /// Whether the file was found damaged, for others than its writer.
    pub(super) fn watched(&self) -> Arc<Watched> {
        self.watched.clone()
    }

    /// Makes the tables, or refuses those that are of another form.
    fn settle(&self) -> Result<Result<(), ApiError>, redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            transaction.open_table(ROWS)?;
            let mut facts = transaction.open_table(FACTS)?;
            for (name, wanted) in [("version", VERSION), ("dimension", self.dimension as u64)] {
                let has = facts.get(name)?.map(|fact| fact.value());
                if has.is_some_and(|has| has != wanted) {
                    let has = has.unwrap_or_default();
                    let message =
                        format!("{FILE} has {name} {has}, but the settings need {wanted}");
                    return Ok(Err(ApiError::new(Code::InvalidVector, message)));
                }
                facts.insert(name, wanted)?;
            }
        }
        transaction.commit()?;
        Ok(Ok(()))
    }

    /// All rows in the order in which they came, and the number of the last write.
    ///
    /// Errors: the file; a row that is not of the form
    pub(super) fn rows(&self) -> Result<(Vec<StoredRow>, u64), ApiError> {
        let (mut rows, sequence) = self.watched.call(|| self.read())?;
        let torn = rows.iter().position(Option::is_none);
        if let Some(at) = torn {
            return Err(self.watched.unusable(format!("row {at} of {FILE} cannot be read")));
        }
        rows.sort_by_key(|row| row.as_ref().map(|row| row.born));
        Ok((rows.into_iter().flatten().collect(), sequence))
    }

    fn read(&self) -> Result<(Vec<Option<StoredRow>>, u64), redb::Error> {
        let transaction = self.database.begin_read()?;
        let sequence = transaction.open_table(FACTS)?.get("sequence")?;
        let mut rows = Vec::new();
        for row in transaction.open_table(ROWS)?.iter()? {
            let (id, bytes) = row?;
            rows.push(decode(id.value(), bytes.value(), self.dimension));
        }
        Ok((rows, sequence.map_or(0, |sequence| sequence.value())))
    }

    /// Writes some batches, numbered from `first` on, all of them or none.
    ///
    /// Errors: the file
    pub(super) fn write<'f>(
        &self,
        batches: impl Iterator<Item = &'f CheckedBatch>,
        first: u64,
    ) -> Result<(), ApiError> {
        self.watched.call(|| self.commit(batches, first))
    }

    fn commit<'f>(
        &self,
        batches: impl Iterator<Item = &'f CheckedBatch>,
        first: u64,
    ) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut bytes = Vec::new();
        for (sequence, batch) in (first..).zip(batches) {
            if batch.drop {
                transaction.delete_table(ROWS)?;
            }
            let mut rows = transaction.open_table(ROWS)?;
            for fresh in &batch.rows {
                encode(fresh, sequence, &mut bytes);
                rows.insert(&*fresh.id, &*bytes)?;
            }
            for id in &batch.delete {
                rows.remove(&**id)?;
            }
            transaction.open_table(FACTS)?.insert("sequence", sequence)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

fn encode(fresh: &CheckedRow, born: u64, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(born.to_le_bytes());
    bytes.extend(fresh.vector.iter().flat_map(|one| one.to_le_bytes()));
    serde_json::to_writer(bytes, &*fresh.attributes).expect("JSON goes into memory");
}

fn decode(id: &str, bytes: &[u8], dimension: usize) -> Option<StoredRow> {
    let (born, rest) = bytes.split_first_chunk::<8>()?;
    let (vector, attributes) = rest.split_at_checked(4 * dimension)?;
    let numbers = vector.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
    let attributes = Arc::new(serde_json::from_slice(attributes).ok()?);
    let fresh = CheckedRow { id: id.into(), vector: numbers.collect(), attributes };
    Some(StoredRow { fresh, born: u64::from_le_bytes(*born) })
}
