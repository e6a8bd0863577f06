//! The outbox's file: who is known by name, and what waits for whom.
//!
//! One thread writes. Whatever came while it was at it goes into the next transaction together, so
//! that deliveries that are stored at the same time share one wait for the disk.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use hyper::body::Bytes;
use redb::{
    Database, Error, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::message;

/// Receivers by their key: JSON of [`Known`].
const RECEIVERS: TableDefinition<'_, &str, &str> = TableDefinition::new("receivers");
/// Deliveries as they travel, by receiver and sequence.
const DELIVERIES: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("deliveries");
/// Wishes that share a transaction at most.
const BATCH: usize = 4_096;

/// A receiver with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Known {
    pub(in super::super) namespace: String,
    pub(in super::super) name: String,
    pub(in super::super) pattern: String,
}

impl Known {
    /// What stands for it in the file.
    pub(in super::super) fn key(&self) -> Arc<str> {
        let key = serde_json::to_string(&(&self.namespace, &self.name));
        key.expect("strings always serialize").into()
    }
}

/// What was in the file when it was opened.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) receivers: Vec<Known>,
    /// Receiver's key, sequence, id and length, in order.
    pub(super) deliveries: Vec<(Arc<str>, u64, String, usize)>,
}

enum Wish {
    Know { key: Arc<str>, known: String },
    Forget { key: Arc<str> },
    Store { key: Arc<str>, sequence: u64, bytes: Bytes, done: oneshot::Sender<()> },
    Remove { key: Arc<str>, sequence: u64 },
}

/// The file and the thread that writes it; dropped, it writes what was wished for and closes.
#[derive(Debug)]
pub(super) struct File {
    database: Arc<Database>,
    wishes: Option<mpsc::Sender<Wish>>,
    writer: Option<JoinHandle<()>>,
}

impl File {
    /// Opens or makes the file.
    ///
    /// Errors: it cannot be opened or read, or is none of ours
    pub(super) fn open(path: &Path) -> Result<(Self, Contents), Error> {
        let database = Arc::new(Database::create(path)?);
        let transaction = database.begin_write()?;
        transaction.open_table(RECEIVERS)?;
        transaction.open_table(DELIVERIES)?;
        transaction.commit()?;
        let contents = read(&database)?;
        let (wishes, wished) = mpsc::channel();
        let writing = Arc::clone(&database);
        let writer = std::thread::Builder::new()
            .name("registry-outbox".into())
            .spawn(move || write(&writing, &wished))
            .map_err(Error::Io)?;
        Ok((Self { database, wishes: Some(wishes), writer: Some(writer) }, contents))
    }

    pub(super) fn know(&self, key: &Arc<str>, known: &Known) {
        let known = serde_json::to_string(known).expect("strings always serialize");
        self.wish(Wish::Know { key: Arc::clone(key), known });
    }

    /// Removes a receiver and what waits for it.
    pub(super) fn forget(&self, key: &Arc<str>) {
        self.wish(Wish::Forget { key: Arc::clone(key) });
    }

    pub(super) fn remove(&self, key: &Arc<str>, sequence: u64) {
        self.wish(Wish::Remove { key: Arc::clone(key), sequence });
    }

    /// Stores a delivery; resolves to `true` once the disk has it.
    pub(super) async fn store(&self, key: &Arc<str>, sequence: u64, bytes: Bytes) -> bool {
        let (done, stored) = oneshot::channel();
        self.wish(Wish::Store { key: Arc::clone(key), sequence, bytes, done });
        stored.await.is_ok()
    }

    /// A delivery that was stored.
    pub(super) fn read(&self, key: &str, sequence: u64) -> Option<Bytes> {
        let transaction = self.database.begin_read().ok()?;
        let deliveries = transaction.open_table(DELIVERIES).ok()?;
        let bytes = deliveries.get((key, sequence)).ok()??;
        Some(Bytes::copy_from_slice(bytes.value()))
    }

    fn wish(&self, wish: Wish) {
        // Without its writer nothing is stored, as whoever waits for it learns.
        let _ = self.wishes.as_ref().map(|wishes| wishes.send(wish));
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(self.wishes.take());
        if let Some(writer) = self.writer.take() {
            // A writer that failed has told whoever waited.
            let _ = writer.join();
        }
    }
}

fn read(database: &Database) -> Result<Contents, Error> {
    let transaction = database.begin_read()?;
    let mut contents = Contents::default();
    for entry in transaction.open_table(RECEIVERS)?.iter()? {
        contents.receivers.extend(serde_json::from_str::<Known>(entry?.1.value()).ok());
    }
    for entry in transaction.open_table(DELIVERIES)?.iter()? {
        let (place, bytes) = entry?;
        let (key, sequence) = place.value();
        if let Some((header, _)) = message::decode(bytes.value()) {
            let length = bytes.value().len();
            contents.deliveries.push((key.into(), sequence, header.delivery.into(), length));
        }
    }
    Ok(contents)
}

/// Carries wishes out until there can be no more.
fn write(database: &Database, wished: &mpsc::Receiver<Wish>) {
    while let Ok(first) = wished.recv() {
        let mut batch = vec![first];
        batch.extend(wished.try_iter().take(BATCH - 1));
        if commit(database, &batch).is_err() {
            // Dropped with its batch, each sender tells that it is not stored.
            continue;
        }
        for wish in batch {
            if let Wish::Store { done, .. } = wish {
                // Whoever waited may have gone.
                let _ = done.send(());
            }
        }
    }
}

fn commit(database: &Database, batch: &[Wish]) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    carry_out(&transaction, batch)?;
    transaction.commit()?;
    Ok(())
}

fn carry_out(transaction: &WriteTransaction, batch: &[Wish]) -> Result<(), Error> {
    let mut receivers = transaction.open_table(RECEIVERS)?;
    let mut deliveries = transaction.open_table(DELIVERIES)?;
    for wish in batch {
        match wish {
            Wish::Know { key, known } => drop(receivers.insert(&**key, known.as_str())?),
            Wish::Forget { key } => {
                receivers.remove(&**key)?;
                clear(&mut deliveries, key)?;
            }
            Wish::Store { key, sequence, bytes, .. } => {
                deliveries.insert((&**key, *sequence), &**bytes)?;
            }
            Wish::Remove { key, sequence } => drop(deliveries.remove((&**key, *sequence))?),
        }
    }
    Ok(())
}

fn clear(deliveries: &mut Table<'_, (&str, u64), &[u8]>, key: &str) -> Result<(), Error> {
    deliveries.retain_in((key, 0)..=(key, u64::MAX), |_, _| false)?;
    Ok(())
}
