//! Records in a file.
//!
//! A record is coded as the length of its text (4 bytes, the lowest first), how many numbers its vector has (4 bytes),
//! the text, the vector (4 bytes a number), and the metadata as JSON.

mod journal;

use std::ops::Bound::{Excluded, Unbounded};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use serde_json::value::RawValue;

use super::{Changes, Named, Record};
use crate::api_error::ApiError;
use crate::row::Row;
use journal::Journal;

/// Name of the file in its folder.
pub(super) const FILE: &str = "rows.redb";

/// What of the file may be in memory at most, in bytes.
const CACHE: usize = 256 << 20;

/// What is kept: bytes under a name.
pub(crate) type Table = TableDefinition<'static, &'static str, &'static [u8]>;

/// Name of a row to what is known about it.
pub(super) const ROWS: Table = TableDefinition::new("rows");

/// What was learned about a query and a row, under the names of both.
pub(crate) const LEARNED: Table = TableDefinition::new("learned");

/// What a known text was embedded to when the rows were.
pub(crate) const ORIGIN: Table = TableDefinition::new("origin");

type Rows = redb::ReadOnlyTable<&'static str, &'static [u8]>;

/// Some changes to a table, made in this order, as one.
pub(crate) struct Write {
    pub(crate) table: Table,
    pub(crate) drop: bool,
    pub(crate) put: Vec<(String, Vec<u8>)>,
    pub(crate) delete: Vec<String>,
}

impl Write {
    /// The changes of rows.
    pub(super) fn of_rows(changes: Changes) -> Self {
        let put = changes.rows.into_iter().map(coded).collect();
        Self { table: ROWS, drop: changes.drop, put, delete: changes.delete }
    }
}

/// A file of tables, open.
#[derive(Debug)]
pub(crate) struct Disk {
    path: PathBuf,
    journal: Journal,
}

impl Disk {
    /// Opens or makes the file.
    pub(super) fn open(path: &Path) -> Result<Self, ApiError> {
        let file = path.to_owned();
        let open = move || redb::Builder::new().set_cache_size(CACHE).create(&file);
        Ok(Self {
            path: path.to_owned(),
            journal: Journal::begin(Box::new(open), Some(path.to_owned()))?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How often the disk was waited for.
    pub(super) fn commits(&self) -> u64 {
        self.journal.commits()
    }

    /// Returns when the changes are on the disk.
    pub(crate) async fn write(&self, write: Write) -> Result<(), ApiError> {
        self.journal.write(write).await
    }

    /// All that a table holds, in the order of the names.
    pub(crate) fn all(&self, table: Table) -> Result<Vec<(String, Vec<u8>)>, ApiError> {
        self.read(table, |rows| {
            let mut all = Vec::new();
            for row in rows.iter()? {
                let (name, value) = row?;
                all.push((name.value().to_owned(), value.value().to_vec()));
            }
            Ok(all)
        })
    }

    pub(super) fn get<S: AsRef<str>>(
        &self,
        ids: &[S],
    ) -> Result<Vec<Option<Arc<Record>>>, ApiError> {
        let coded = self.read(ROWS, |rows| {
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.push(rows.get(id.as_ref())?.map(|value| decoded(value.value())));
            }
            Ok(found)
        })?;
        coded.into_iter().map(|found| found.map(|found| self.sound(found)).transpose()).collect()
    }

    pub(super) fn after(&self, id: &str, most: usize) -> Result<Vec<Named>, ApiError> {
        let coded = self.read(ROWS, |rows| {
            let mut found = Vec::new();
            for row in rows.range::<&str>((Excluded(id), Unbounded))?.take(most) {
                let (name, value) = row?;
                found.push((name.value().into(), decoded(value.value())));
            }
            Ok(found)
        })?;
        coded.into_iter().map(|(name, record)| Ok((name, self.sound(record)?))).collect()
    }

    pub(super) fn size(&self) -> Result<u64, ApiError> {
        self.read(ROWS, |rows| Ok(rows.len()?))
    }

    fn sound(&self, record: Option<Record>) -> Result<Arc<Record>, ApiError> {
        record.map(Arc::new).ok_or_else(|| self.journal.damaged("a record cannot be read"))
    }

    fn read<T>(
        &self,
        table: Table,
        look: impl FnOnce(&Rows) -> Result<T, redb::Error>,
    ) -> Result<T, ApiError> {
        self.journal.with(|database| look(&database.begin_read()?.open_table(table)?))
    }
}

fn coded(row: Row) -> (String, Vec<u8>) {
    let metadata = super::json(&row.metadata);
    let vector = row.vector.unwrap_or_default();
    let mut code = Vec::with_capacity(8 + row.text.len() + 4 * vector.len() + metadata.get().len());
    code.extend((row.text.len() as u32).to_le_bytes());
    code.extend((vector.len() as u32).to_le_bytes());
    code.extend(row.text.as_bytes());
    vector.iter().for_each(|number| code.extend(number.to_le_bytes()));
    code.extend(metadata.get().as_bytes());
    (row.id, code)
}

fn decoded(code: &[u8]) -> Option<Record> {
    let (text_length, code) = code.split_first_chunk()?;
    let (numbers, code) = code.split_first_chunk()?;
    let (text, code) = code.split_at_checked(u32::from_le_bytes(*text_length) as usize)?;
    let bytes = (u32::from_le_bytes(*numbers) as usize).checked_mul(4)?;
    let (vector, metadata) = code.split_at_checked(bytes)?;
    let vector: Box<[f32]> =
        vector.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
    let metadata = String::from_utf8(metadata.to_vec()).ok()?;
    Some(Record {
        text: str::from_utf8(text).ok()?.into(),
        metadata: RawValue::from_string(metadata).ok()?,
        vector: (!vector.is_empty()).then_some(vector),
    })
}
