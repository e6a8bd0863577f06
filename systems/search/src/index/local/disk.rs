//! The rows in a file: what was acknowledged is there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::intake::{Fit, Fresh};
use crate::fault::Fault;
use crate::guarded::{Guarded, guarded};
use crate::metadata::disk::check;

/// Name to row: in which write it came (8 bytes), its vector, its attributes as JSON.
const ROWS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rows");

/// Facts about the file.
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// The form of all this.
const VERSION: u64 = 1;

/// The name of the file in the folder.
const FILE: &str = "rows.redb";

/// When to try again.
const LATER: Duration = Duration::from_secs(1);

/// The file of the rows.
#[derive(Debug)]
pub(super) struct Disk {
    database: Guarded<Database>,
    dimension: usize,
}

/// A row as the file has it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) fresh: Fresh,
    pub(super) born: u64,
}

impl Disk {
    /// Opens or makes the file.
    ///
    /// Errors: a file that cannot be read, of another form, or of vectors of another dimension
    pub(super) fn open(folder: &Path, dimension: usize) -> Result<Self, Fault> {
        std::fs::create_dir_all(folder).map_err(|error| told(&error))?;
        let opened = guarded(|| {
            let database = Guarded::new(Database::create(folder.join(FILE))?);
            let disk = Self { database, dimension };
            Ok(disk.settle()?.map(|()| disk))
        });
        called(opened)?
    }

    /// The same at the start: all of the file is held against its checksums.
    ///
    /// Errors: likewise; a file that was damaged
    pub(super) fn open_whole(folder: &Path, dimension: usize) -> Result<Self, Fault> {
        let mut disk = Self::open(folder, dimension)?;
        called(guarded(|| check(&mut disk.database)))?;
        Ok(disk)
    }

    /// Makes the tables, or refuses those that are of another form.
    fn settle(&self) -> Result<Result<(), Fault>, redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            transaction.open_table(ROWS)?;
            let mut facts = transaction.open_table(FACTS)?;
            for (name, wanted) in [("version", VERSION), ("dimension", self.dimension as u64)] {
                let has = facts.get(name)?.map(|fact| fact.value());
                if has.is_some_and(|has| has != wanted) {
                    let has = has.unwrap_or_default();
                    let message = format!("{FILE} is of {name} {has}, and {wanted} is asked for");
                    return Ok(Err(Fault::unavailable(message, LATER)));
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
    pub(super) fn rows(&self) -> Result<(Vec<Kept>, u64), Fault> {
        let (mut rows, sequence) = called(guarded(|| self.read()))?;
        let torn = rows.iter().position(Option::is_none);
        if let Some(at) = torn {
            return Err(told(&format!("row {at} of {FILE} cannot be read")));
        }
        rows.sort_by_key(|row| row.as_ref().map(|row| row.born));
        Ok((rows.into_iter().flatten().collect(), sequence))
    }

    fn read(&self) -> Result<(Vec<Option<Kept>>, u64), redb::Error> {
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
        batches: impl Iterator<Item = &'f Fit>,
        first: u64,
    ) -> Result<(), Fault> {
        called(guarded(|| self.commit(batches, first)))
    }

    fn commit<'f>(
        &self,
        batches: impl Iterator<Item = &'f Fit>,
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

/// redb panics on what makes no sense to it.
fn called<T>(ended: Result<Result<T, redb::Error>, String>) -> Result<T, Fault> {
    ended.map_err(|panic| told(&panic))?.map_err(|error| told(&error))
}

fn told(error: &dyn std::fmt::Display) -> Fault {
    Fault::unavailable(format!("the rows on the disk: {error}"), LATER)
}

fn encode(fresh: &Fresh, born: u64, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(born.to_le_bytes());
    bytes.extend(fresh.vector.iter().flat_map(|one| one.to_le_bytes()));
    serde_json::to_writer(bytes, &*fresh.attributes).expect("JSON goes into memory");
}

fn decode(id: &str, bytes: &[u8], dimension: usize) -> Option<Kept> {
    let (born, rest) = bytes.split_first_chunk::<8>()?;
    let (vector, attributes) = rest.split_at_checked(4 * dimension)?;
    let numbers = vector.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
    let attributes = Arc::new(serde_json::from_slice(attributes).ok()?);
    let fresh = Fresh { id: id.into(), vector: numbers.collect(), attributes };
    Some(Kept { fresh, born: u64::from_le_bytes(*born) })
}
