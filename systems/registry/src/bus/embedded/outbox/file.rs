//! The outbox's file: the named receivers and the deliveries stored for them.
//!
//! One thread writes. Requests that arrive during a transaction share the next one, so that
//! concurrent deliveries share one sync. After a failure the file is opened again, and the missing
//! writes ([`Unwritten`]) are repeated.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use redb::{
    Database, DatabaseError, Error, ReadableDatabase, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::message;

mod unwritten;

use unwritten::Unwritten;

/// Receivers by key, as JSON of [`Known`].
const RECEIVERS: TableDefinition<'_, &str, &str> = TableDefinition::new("receivers");
/// Encoded deliveries, by receiver and sequence number.
const DELIVERIES: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("deliveries");
/// Most writes of one transaction.
const BATCH: usize = 4_096;

/// A named receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Known {
    pub(in super::super) namespace: String,
    pub(in super::super) name: String,
    pub(in super::super) pattern: String,
}

impl Known {
    /// Its key in the file.
    pub(in super::super) fn key(&self) -> Arc<str> {
        let key = serde_json::to_string(&(&self.namespace, &self.name));
        key.expect("strings always serialize").into()
    }
}

/// The contents of the file when it was opened.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) receivers: Vec<Known>,
    /// Receiver's key, sequence number, id and length, in order.
    pub(super) deliveries: Vec<(Arc<str>, u64, String, usize)>,
}

enum FileWrite {
    Remember { key: Arc<str>, known: String },
    Forget { key: Arc<str> },
    Store { key: Arc<str>, sequence: u64, bytes: Bytes, done: oneshot::Sender<()> },
    Remove { key: Arc<str>, sequence: u64 },
}

/// Opens the file, the first time and again.
pub(in super::super) type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// The file; `None` after a failure, until it is opened again.
type SharedDatabase = Arc<RwLock<Option<Database>>>;

/// The file and the thread that writes it; dropping it writes pending requests and closes the file.
#[derive(Debug)]
pub(super) struct OutboxFile {
    database: SharedDatabase,
    writes: Option<mpsc::Sender<FileWrite>>,
    writer: Option<JoinHandle<()>>,
}

impl OutboxFile {
    /// Opens or creates the file; after a failure it is opened again, at the earliest after
    /// `pause`.
    ///
    /// Errors: it cannot be opened or read, or has another format
    pub(super) fn open(open: Open, pause: Duration) -> Result<(Self, Contents), Error> {
        let database = open()?;
        let transaction = database.begin_write()?;
        transaction.open_table(RECEIVERS)?;
        transaction.open_table(DELIVERIES)?;
        transaction.commit()?;
        let contents = read(&database)?;
        let database = SharedDatabase::new(RwLock::new(Some(database)));
        let (writes, wished) = mpsc::channel();
        let unwritten = Unwritten::default();
        let writer =
            Writer { open, database: database.clone(), pause, not_before: None, unwritten };
        let writer = std::thread::Builder::new()
            .name("registry-outbox".into())
            .spawn(move || writer.serve(&wished))
            .map_err(Error::Io)?;
        Ok((Self { database, writes: Some(writes), writer: Some(writer) }, contents))
    }

    pub(super) fn remember(&self, key: &Arc<str>, known: &Known) {
        let known = serde_json::to_string(known).expect("strings always serialize");
        self.request_write(FileWrite::Remember { key: Arc::clone(key), known });
    }

    /// Removes a receiver and its stored deliveries.
    pub(super) fn forget(&self, key: &Arc<str>) {
        self.request_write(FileWrite::Forget { key: Arc::clone(key) });
    }

    pub(super) fn remove(&self, key: &Arc<str>, sequence: u64) {
        self.request_write(FileWrite::Remove { key: Arc::clone(key), sequence });
    }

    /// Stores a delivery; resolves to `true` once the disk has it, and to `false` if it never will.
    pub(super) async fn store(&self, key: &Arc<str>, sequence: u64, bytes: Bytes) -> bool {
        let (done, stored) = oneshot::channel();
        self.request_write(FileWrite::Store { key: Arc::clone(key), sequence, bytes, done });
        stored.await.is_ok()
    }

    /// A stored delivery.
    pub(super) fn read(&self, key: &str, sequence: u64) -> Option<Bytes> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.as_ref()?.begin_read().ok()?;
        let deliveries = transaction.open_table(DELIVERIES).ok()?;
        let bytes = deliveries.get((key, sequence)).ok()??;
        Some(Bytes::copy_from_slice(bytes.value()))
    }

    fn request_write(&self, write: FileWrite) {
        // Without the writer nothing is stored; the dropped sender reports that.
        let _ = self.writes.as_ref().map(|writes| writes.send(write));
    }
}

impl Drop for OutboxFile {
    fn drop(&mut self) {
        drop(self.writes.take());
        if let Some(writer) = self.writer.take() {
            // The dropped senders have already reported a panic of the writer.
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
        let (key, bytes) = entry?;
        let (key, sequence) = key.value();
        if let Some((header, _)) = message::decode(bytes.value()) {
            let length = bytes.value().len();
            contents.deliveries.push((key.into(), sequence, header.delivery.into(), length));
        }
    }
    Ok(contents)
}

/// The thread that writes.
struct Writer {
    open: Open,
    database: SharedDatabase,
    pause: Duration,
    /// The earliest time to open the file again, because that may require reading all of it.
    not_before: Option<Instant>,
    unwritten: Unwritten,
}

impl Writer {
    /// Writes until all senders are dropped.
    fn serve(mut self, wished: &mpsc::Receiver<FileWrite>) {
        loop {
            let patience = if self.unwritten.is_empty() { Duration::MAX } else { self.pause };
            let first = wished.recv_timeout(patience);
            let is_over = matches!(first, Err(RecvTimeoutError::Disconnected));
            if is_over {
                // The last chance to repeat missing writes.
                self.not_before = None;
            }
            let batch = first.into_iter().chain(wished.try_iter().take(BATCH - 1)).collect();
            self.write_batch(batch);
            if is_over {
                return;
            }
        }
    }

    fn write_batch(&mut self, batch: Vec<FileWrite>) {
        if batch.is_empty() && self.unwritten.is_empty() {
            return;
        }
        let is_open = self.opens();
        let is_written = is_open && self.writes(&batch);
        if is_written {
            self.unwritten = Unwritten::default();
        }
        for write in batch {
            match write {
                // The waiting multicast may have ended. Dropping the sender reports that nothing is
                // stored.
                FileWrite::Store { done, .. } if is_written => drop(done.send(())),
                FileWrite::Store { .. } if !is_open => {}
                write if !is_written => self.unwritten.keep(write),
                _ => {}
            }
        }
    }

    /// Whether the file is open; opens it again if allowed.
    fn opens(&mut self) -> bool {
        let is_open = self.database.read().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_open || self.not_before.is_some_and(|instant| Instant::now() < instant) {
            return is_open;
        }
        let opened = (self.open)().map_err(Error::from);
        // Nothing else holds the lock now.
        let opened = opened.and_then(|file| self.unwritten.forget_done(&file).map(|()| file));
        self.replace_database(opened.ok())
    }

    fn writes(&mut self, batch: &[FileWrite]) -> bool {
        let unwritten = self.unwritten.writes();
        let written = {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            database
                .as_ref()
                .is_some_and(|file| commit(file, unwritten.iter().chain(batch)).is_ok())
        };
        // It is unknown how much of a failed write was done, and redb accepts no other write on
        // this handle.
        written || self.replace_database(None)
    }

    fn replace_database(&mut self, database: Option<Database>) -> bool {
        self.not_before = database.is_none().then(|| Instant::now() + self.pause);
        let mut current = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *current = database;
        current.is_some()
    }
}

fn commit<'w>(
    database: &Database,
    batch: impl Iterator<Item = &'w FileWrite>,
) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    write_batch(&transaction, batch)?;
    transaction.commit()?;
    Ok(())
}

fn write_batch<'w>(
    transaction: &WriteTransaction,
    batch: impl Iterator<Item = &'w FileWrite>,
) -> Result<(), Error> {
    let mut receivers = transaction.open_table(RECEIVERS)?;
    let mut deliveries = transaction.open_table(DELIVERIES)?;
    for write in batch {
        match write {
            FileWrite::Remember { key, known } => drop(receivers.insert(&**key, known.as_str())?),
            FileWrite::Forget { key } => {
                receivers.remove(&**key)?;
                clear(&mut deliveries, key)?;
            }
            FileWrite::Store { key, sequence, bytes, .. } => {
                deliveries.insert((&**key, *sequence), &**bytes)?;
            }
            FileWrite::Remove { key, sequence } => drop(deliveries.remove((&**key, *sequence))?),
        }
    }
    Ok(())
}

fn clear(deliveries: &mut Table<'_, (&str, u64), &[u8]>, key: &str) -> Result<(), Error> {
    deliveries.retain_in((key, 0)..=(key, u64::MAX), |_, _| false)?;
    Ok(())
}
