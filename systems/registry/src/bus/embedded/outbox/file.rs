//! The outbox's file: who is known by name, and what waits for whom.
//!
//! One thread writes. Whatever came while it was at it goes into the next transaction together, so
//! that deliveries that are stored at the same time share one wait for the disk. After a failure
//! the file is opened again, and what is owed to it since ([`Owed`]) is made up for.

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

mod owed;

use owed::Owed;

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

/// How the file is opened, the first time and again.
pub(in super::super) type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// The file; none after a failure, until it is opened again.
type Shared = Arc<RwLock<Option<Database>>>;

/// The file and the thread that writes it; dropped, it writes what was wished for and closes.
#[derive(Debug)]
pub(super) struct File {
    database: Shared,
    wishes: Option<mpsc::Sender<Wish>>,
    writer: Option<JoinHandle<()>>,
}

impl File {
    /// Opens or makes the file; after a failure again, at least that pause later.
    ///
    /// Errors: it cannot be opened or read, or is none of ours
    pub(super) fn open(open: Open, pause: Duration) -> Result<(Self, Contents), Error> {
        let database = open()?;
        let transaction = database.begin_write()?;
        transaction.open_table(RECEIVERS)?;
        transaction.open_table(DELIVERIES)?;
        transaction.commit()?;
        let contents = read(&database)?;
        let database = Shared::new(RwLock::new(Some(database)));
        let (wishes, wished) = mpsc::channel();
        let owed = Owed::default();
        let writer = Writer { open, database: database.clone(), pause, not_before: None, owed };
        let writer = std::thread::Builder::new()
            .name("registry-outbox".into())
            .spawn(move || writer.serve(&wished))
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

    /// Stores a delivery; resolves to `true` once the disk has it, and to `false` if it never will.
    pub(super) async fn store(&self, key: &Arc<str>, sequence: u64, bytes: Bytes) -> bool {
        let (done, stored) = oneshot::channel();
        self.wish(Wish::Store { key: Arc::clone(key), sequence, bytes, done });
        stored.await.is_ok()
    }

    /// A delivery that was stored.
    pub(super) fn read(&self, key: &str, sequence: u64) -> Option<Bytes> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.as_ref()?.begin_read().ok()?;
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

/// The thread that writes.
struct Writer {
    open: Open,
    database: Shared,
    pause: Duration,
    /// When the file may be opened again: that may cost as much as reading all of it.
    not_before: Option<Instant>,
    owed: Owed,
}

impl Writer {
    /// Carries wishes out until there can be no more.
    fn serve(mut self, wished: &mpsc::Receiver<Wish>) {
        loop {
            let patience = if self.owed.is_empty() { Duration::MAX } else { self.pause };
            let first = wished.recv_timeout(patience);
            let is_over = matches!(first, Err(RecvTimeoutError::Disconnected));
            if is_over {
                // The last time that anything can be made up for.
                self.not_before = None;
            }
            let batch = first.into_iter().chain(wished.try_iter().take(BATCH - 1)).collect();
            self.carry_out(batch);
            if is_over {
                return;
            }
        }
    }

    fn carry_out(&mut self, batch: Vec<Wish>) {
        if batch.is_empty() && self.owed.is_empty() {
            return;
        }
        let is_open = self.opens();
        let is_written = is_open && self.writes(&batch);
        if is_written {
            self.owed = Owed::default();
        }
        for wish in batch {
            match wish {
                // Whoever waited may have gone. Dropped instead, it tells that nothing is stored.
                Wish::Store { done, .. } if is_written => drop(done.send(())),
                Wish::Store { .. } if !is_open => {}
                wish if !is_written => self.owed.take(wish),
                _ => {}
            }
        }
    }

    /// Whether there is a file, opened again if it may be.
    fn opens(&mut self) -> bool {
        let is_open = self.database.read().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_open || self.not_before.is_some_and(|instant| Instant::now() < instant) {
            return is_open;
        }
        let opened = (self.open)().map_err(Error::from);
        // Nobody waits for the lock meanwhile.
        let opened = opened.and_then(|file| self.owed.settle(&file).map(|()| file));
        self.become_that(opened.ok())
    }

    fn writes(&mut self, batch: &[Wish]) -> bool {
        let owed = self.owed.wishes();
        let written = {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            database.as_ref().is_some_and(|file| commit(file, owed.iter().chain(batch)).is_ok())
        };
        // Nobody can say how far a write that failed went, and this file takes no other one.
        written || self.become_that(None)
    }

    fn become_that(&mut self, database: Option<Database>) -> bool {
        self.not_before = database.is_none().then(|| Instant::now() + self.pause);
        let mut place = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *place = database;
        place.is_some()
    }
}

fn commit<'w>(database: &Database, batch: impl Iterator<Item = &'w Wish>) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    carry_out(&transaction, batch)?;
    transaction.commit()?;
    Ok(())
}

fn carry_out<'w>(
    transaction: &WriteTransaction,
    batch: impl Iterator<Item = &'w Wish>,
) -> Result<(), Error> {
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
