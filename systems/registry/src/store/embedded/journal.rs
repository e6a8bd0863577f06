//! The file of a durable store, and the only thread that writes to it.
//!
//! Requests that arrive during a commit share the next one, and so they share one sync. A request
//! is answered and visible to readers once it is on the disk.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::{mpsc, oneshot};

use super::namespaces::{Change, ChangeRequest, Namespaces};
use crate::api_error::{ApiError, unavailable};
use crate::identity::Identity;
use crate::store::StoredSchema;

/// Identities as JSON, by namespace and name.
const IDENTITIES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("identities");

/// Schema and names of indexes as JSON, by namespace.
const NAMESPACES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("namespaces");

/// Most requests of one commit.
const MOST: usize = 1_000;

/// Requests that may wait; further senders block.
const QUEUE: usize = 8_192;

/// The result of a request.
type WriteResult = Result<Vec<Change>, ApiError>;

/// A pending write request.
struct WriteJob {
    request: ChangeRequest,
    answer: oneshot::Sender<WriteResult>,
}

/// Number of commits, and of requests in them.
#[derive(Debug, Default)]
pub(super) struct CommitCounts {
    pub(super) commits: AtomicU64,
    pub(super) requests: AtomicU64,
}

/// The queue for durable requests.
#[derive(Debug)]
pub(super) struct Journal {
    jobs: Option<mpsc::Sender<WriteJob>>,
    journal_writer: Option<JoinHandle<()>>,
    pub(super) commit_counts: Arc<CommitCounts>,
}

impl Journal {
    /// Opens or creates the file, and loads its contents into `spaces`.
    ///
    /// Errors: `UNAVAILABLE` if it cannot be read, or if another process has it open
    pub(super) fn open(path: &Path, spaces: Arc<Namespaces>) -> Result<Self, ApiError> {
        let path = path.to_owned();
        Self::begin(Box::new(move || Database::create(&path)), spaces)
    }

    fn begin(open: OpenDatabase, spaces: Arc<Namespaces>) -> Result<Self, ApiError> {
        let commit_counts = Arc::new(CommitCounts::default());
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let mut journal_writer =
            JournalWriter { open, database: None, spaces, commit_counts: commit_counts.clone() };
        journal_writer.database()?;
        let journal_writer = std::thread::Builder::new()
            .name("registry-file".into())
            .spawn(move || journal_writer.serve(waiting))
            .map_err(|error| unavailable(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), journal_writer: Some(journal_writer), commit_counts })
    }

    /// Decides, writes and applies a request; returns its changes.
    pub(super) async fn write(&self, request: ChangeRequest) -> WriteResult {
        let (answer, waiting) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(WriteJob { request, answer }).await.map_err(|_| closed())?;
        waiting.await.map_err(|_| closed())?
    }
}

impl Drop for Journal {
    /// Writes pending requests, and closes the file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(journal_writer) = self.journal_writer.take() {
            // The dropped channels have already reported a panic to all waiting senders.
            let _ = journal_writer.join();
        }
    }
}

/// Requests that share a commit. They are independent: the current state decides each.
#[derive(Default)]
struct Batch {
    decided: Vec<(Vec<Change>, oneshot::Sender<WriteResult>)>,
    touched: HashSet<(Arc<str>, Arc<str>)>,
    /// Number of identities that the decided requests add, by namespace.
    pending: HashMap<Arc<str>, usize>,
    is_full: bool,
}

impl Batch {
    /// Adds a job, or returns it if it must wait for the next batch.
    fn take(&mut self, job: WriteJob, spaces: &Namespaces) -> Option<WriteJob> {
        let touches = match &job.request {
            ChangeRequest::Register(namespace, registration) if spaces.has(namespace) => {
                Some((namespace.clone(), registration.name.clone()))
            }
            ChangeRequest::Unregister(namespace, name) => Some((namespace.clone(), name.clone())),
            // Changes of whole namespaces, and the first registration in one, have their own batch,
            // because a limit counts the existing namespaces.
            ChangeRequest::Register(..)
            | ChangeRequest::CreateNamespace(_)
            | ChangeRequest::Schema(..)
            | ChangeRequest::Expire(_) => None,
        };
        let must_wait = touches.as_ref().is_none_or(|name| self.touched.contains(name));
        if self.is_full || must_wait && !self.decided.is_empty() {
            return Some(job);
        }
        self.decide(job, spaces, touches);
        None
    }

    fn decide(
        &mut self,
        job: WriteJob,
        spaces: &Namespaces,
        touches: Option<(Arc<str>, Arc<str>)>,
    ) {
        let now = spaces.now();
        let pending = touches.as_ref().and_then(|(namespace, _)| self.pending.get(namespace));
        let is_new = match &job.request {
            ChangeRequest::Register(namespace, registration) => {
                !spaces.is_alive(namespace, &registration.name, now)
            }
            _ => false,
        };
        let decision = spaces.decide(job.request, now, pending.copied().unwrap_or(0));
        match decision {
            Ok(changes) if !changes.is_empty() => {
                self.decided.push((changes, job.answer));
                self.is_full = touches.is_none() || self.decided.len() == MOST;
                if let Some((namespace, name)) = touches {
                    *self.pending.entry(namespace.clone()).or_default() += usize::from(is_new);
                    self.touched.insert((namespace, name));
                }
            }
            // Nothing to write. The waiting sender may be gone.
            settled => drop(job.answer.send(settled)),
        }
    }
}

/// Opens the file, the first time and again.
type OpenDatabase = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// The thread that writes.
struct JournalWriter {
    open: OpenDatabase,
    /// `None` after a failed write: the next request opens the file again and reads it, because it
    /// is unknown how much was written.
    database: Option<Database>,
    spaces: Arc<Namespaces>,
    commit_counts: Arc<CommitCounts>,
}

impl JournalWriter {
    fn database(&mut self) -> Result<&Database, ApiError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => {
                let database = (self.open)().map_err(|error| unusable(error.into()))?;
                self.spaces.replace_all(load(&database)?);
                database
            }
        };
        Ok(self.database.insert(database))
    }

    fn serve(mut self, mut waiting: mpsc::Receiver<WriteJob>) {
        let mut next: Option<WriteJob> = None;
        while let Some(first) = next.take().or_else(|| waiting.blocking_recv()) {
            if let Err(error) = self.database() {
                // The waiting sender may be gone.
                let _ = first.answer.send(Err(error));
                continue;
            }
            let mut batch = Batch::default();
            next = batch.take(first, &self.spaces);
            while next.is_none()
                && let Ok(job) = waiting.try_recv()
            {
                next = batch.take(job, &self.spaces);
            }
            if !batch.decided.is_empty() {
                self.commit(batch);
            }
        }
    }

    fn commit(&mut self, batch: Batch) {
        let changes = batch.decided.iter().flat_map(|(changes, _)| changes);
        let written = self.database().and_then(|file| write(file, changes).map_err(unusable));
        if written.is_ok() {
            self.commit_counts.commits.fetch_add(1, Ordering::Relaxed);
            self.commit_counts.requests.fetch_add(batch.decided.len() as u64, Ordering::Relaxed);
            batch.decided.iter().for_each(|(changes, _)| self.spaces.make(changes));
        } else {
            self.database = None;
        }
        for (changes, answer) in batch.decided {
            // The waiting sender may be gone.
            let _ = answer.send(written.clone().map(|()| changes));
        }
    }
}

/// Writes changes to the disk: all of them, or none.
fn write<'c>(
    database: &Database,
    changes: impl Iterator<Item = &'c Change>,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut identities = transaction.open_table(IDENTITIES)?;
        let mut namespaces = transaction.open_table(NAMESPACES)?;
        for change in changes {
            match change {
                Change::CreateNamespace(namespace) => {
                    namespaces.insert(&**namespace, &*json(&StoredSchema::default()))?;
                }
                Change::Schema(namespace, schema) => {
                    namespaces.insert(&**namespace, &*json(&**schema))?;
                }
                Change::Put(namespace, identity) => {
                    identities.insert((&**namespace, &*identity.name), &*json(&**identity))?;
                }
                Change::Gone(gone) => {
                    identities.remove((&*gone.namespace, &*gone.name))?;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

/// The contents of the file.
fn load(database: &Database) -> Result<Namespaces, ApiError> {
    // Creates the tables of a new file.
    write(database, [].iter()).map_err(unusable)?;
    let spaces = Namespaces::default();
    for change in read(database).map_err(unusable)? {
        spaces.make(&[change?]);
    }
    Ok(spaces)
}

fn read(database: &Database) -> Result<Vec<Result<Change, ApiError>>, redb::Error> {
    let transaction = database.begin_read()?;
    let mut changes = Vec::new();
    for row in transaction.open_table(NAMESPACES)?.iter()? {
        let (namespace, schema) = row?;
        let schema = parse::<StoredSchema>(schema.value());
        changes.push(schema.map(|schema| Change::Schema(namespace.value().into(), schema.into())));
    }
    for row in transaction.open_table(IDENTITIES)?.iter()? {
        let (key, value) = row?;
        let identity = parse::<Identity>(value.value());
        changes.push(identity.map(|identity| Change::Put(key.value().0.into(), identity.into())));
    }
    Ok(changes)
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("names and JSON values always serialize")
}

fn parse<T: for<'a> serde::Deserialize<'a>>(text: &[u8]) -> Result<T, ApiError> {
    let unreadable = |error| unavailable(format!("the store's file is damaged: {error}"));
    serde_json::from_slice(text).map_err(unreadable)
}

fn unusable(error: redb::Error) -> ApiError {
    unavailable(format!("the store's file cannot be used: {error}"))
}

fn closed() -> ApiError {
    unavailable("the store's file is closed")
}

#[cfg(test)]
mod tests;
