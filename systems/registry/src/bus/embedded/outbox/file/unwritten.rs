//! Failed writes that must be repeated.
//!
//! The sender of a failed store got the failure. New receivers, removed receivers and
//! acknowledgements have no such sender, so they are kept here until the file is writable again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use redb::{Database, Error, ReadableDatabase};

use super::{DELIVERIES, FileWrite, RECEIVERS};

/// Writes that failed and must be repeated.
#[derive(Debug, Default)]
pub(super) struct Unwritten(HashMap<Arc<str>, ReceiverRetry>);

/// The missing writes of one receiver, in the order of repetition.
#[derive(Debug, Default)]
struct ReceiverRetry {
    /// Forget the receiver, before anything else here.
    forget: bool,
    remember: Option<String>,
    remove: BTreeSet<u64>,
}

impl Unwritten {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps a failed write. A failed store becomes a removal: its sender got the failure, so the
    /// delivery must not stay in the file.
    pub(super) fn keep(&mut self, write: FileWrite) {
        match write {
            FileWrite::Remember { key, known } => {
                self.0.entry(key).or_default().remember = Some(known)
            }
            FileWrite::Forget { key } => {
                self.0.insert(key, ReceiverRetry { forget: true, ..ReceiverRetry::default() });
            }
            FileWrite::Store { key, sequence, .. } | FileWrite::Remove { key, sequence } => {
                self.0.entry(key).or_default().remove.insert(sequence);
            }
        }
    }

    /// The missing writes, in order of repetition.
    pub(super) fn writes(&self) -> Vec<FileWrite> {
        let mut writes = Vec::new();
        for (key, ReceiverRetry { forget, remember, remove }) in &self.0 {
            let key = || Arc::clone(key);
            writes.extend(forget.then(|| FileWrite::Forget { key: key() }));
            let remember = remember.clone();
            writes.extend(remember.map(|known| FileWrite::Remember { key: key(), known }));
            let removals = remove.iter();
            writes.extend(
                removals.map(|sequence| FileWrite::Remove { key: key(), sequence: *sequence }),
            );
        }
        writes
    }

    /// Drops writes that the file already has; otherwise the list would grow while a disk is full.
    ///
    /// Errors: the file cannot be read
    pub(super) fn forget_done(&mut self, database: &Database) -> Result<(), Error> {
        let transaction = database.begin_read()?;
        let receivers = transaction.open_table(RECEIVERS)?;
        let deliveries = transaction.open_table(DELIVERIES)?;
        for (key, debt) in &mut self.0 {
            let mut stored = BTreeSet::new();
            for entry in deliveries.range((&**key, 0)..=(&**key, u64::MAX))? {
                stored.insert(entry?.0.value().1);
            }
            debt.remove.retain(|sequence| stored.contains(sequence));
            debt.forget &= !stored.is_empty() || receivers.get(&**key)?.is_some();
        }
        self.0.retain(|_, debt| debt.forget || debt.remember.is_some() || !debt.remove.is_empty());
        Ok(())
    }
}
