//! Records in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Changes, Named, Record};
use crate::row::Row;

/// So many changes are made before readers have their turn.
const AT_ONCE: usize = 64;

type Records = BTreeMap<Box<str>, Arc<Record>>;

/// Records by their names.
#[derive(Debug, Default)]
pub(super) struct Memory {
    records: RwLock<Records>,
    /// Which of the next writes fail.
    #[cfg(test)]
    pub(super) failing: std::sync::Mutex<std::collections::VecDeque<bool>>,
}

impl Memory {
    /// Readers see the changes as they are made.
    pub(super) fn write(&self, changes: Changes) {
        if changes.drop {
            // What is forgotten is given back outside of the lock, as this takes time.
            let forgotten = std::mem::take(&mut *self.writing());
            drop(forgotten);
        }
        let mut rows = changes.rows.into_iter().map(|row| (row.id.as_str().into(), record(row)));
        loop {
            let some: Vec<Named> = rows.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            let mut records = self.writing();
            let before: Vec<_> =
                some.into_iter().map(|(id, record)| records.insert(id, record)).collect();
            drop(records);
            drop(before);
        }
        for some in changes.delete.chunks(AT_ONCE) {
            let mut records = self.writing();
            let before: Vec<_> = some.iter().map(|id| records.remove(id.as_str())).collect();
            drop(records);
            drop(before);
        }
    }

    pub(super) fn get<S: AsRef<str>>(&self, ids: &[S]) -> Vec<Option<Arc<Record>>> {
        let records = self.reading();
        ids.iter().map(|id| records.get(id.as_ref()).cloned()).collect()
    }

    pub(super) fn after(&self, id: &str, most: usize) -> Vec<Named> {
        let records = self.reading();
        let behind = records.range::<str, _>((Bound::Excluded(id), Bound::Unbounded));
        behind.take(most).map(|(id, record)| (id.clone(), record.clone())).collect()
    }

    pub(super) fn size(&self) -> u64 {
        self.reading().len() as u64
    }

    fn reading(&self) -> RwLockReadGuard<'_, Records> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, Records> {
        self.records.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record(row: Row) -> Arc<Record> {
    let metadata = super::json(&row.metadata);
    let vector = row.vector.map(Vec::into_boxed_slice);
    Arc::new(Record { text: row.text.into_boxed_str(), metadata, vector })
}
