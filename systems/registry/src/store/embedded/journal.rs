//! The file of a durable store, and the thread that alone writes to it.
//!
//! Whatever is wished for while one commit is under way goes into the next one together, so that
//! the disk is waited for once and not once for each. A wish is answered, and seen by readers, when
//! it is on the disk.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::{mpsc, oneshot};

use super::spaces::{Change, Spaces, Wish};
use crate::fault::Fault;
use crate::identity::Identity;
use crate::store::StoredSchema;

/// Namespace and name to identity, as JSON.
const IDENTITIES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("identities");

/// Namespace to its schema and the names of its indexes, as JSON.
const NAMESPACES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("namespaces");

/// Most wishes that share a commit.
const MOST: usize = 1_000;

/// Wishes that may wait; beyond that, whoever has one waits before it is taken.
const QUEUE: usize = 8_192;

/// What came of a wish.
type Answer = Result<Vec<Change>, Fault>;

/// A wish on its way to the file.
struct Job {
    wish: Wish,
    answer: oneshot::Sender<Answer>,
}

/// How many commits there were, of how many wishes.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) commits: AtomicU64,
    pub(super) wishes: AtomicU64,
}

/// Where wishes go that must be durable.
#[derive(Debug)]
pub(super) struct Journal {
    jobs: Option<mpsc::Sender<Job>>,
    keeper: Option<JoinHandle<()>>,
    pub(super) account: Arc<Account>,
}

impl Journal {
    /// Opens or makes the file, and puts what it holds into `spaces`.
    ///
    /// Errors: `UNAVAILABLE` if it cannot be read, or if another process has it open
    pub(super) fn open(path: &Path, spaces: Arc<Spaces>) -> Result<Self, Fault> {
        let path = path.to_owned();
        Self::begin(Box::new(move || Database::create(&path)), spaces)
    }

    fn begin(open: Open, spaces: Arc<Spaces>) -> Result<Self, Fault> {
        let account = Arc::new(Account::default());
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let mut keeper = Keeper { open, database: None, spaces, account: account.clone() };
        keeper.database()?;
        let keeper = std::thread::Builder::new()
            .name("registry-file".into())
            .spawn(move || keeper.serve(waiting))
            .map_err(|error| Fault::unavailable(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), keeper: Some(keeper), account })
    }

    /// Has a wish decided, written and made; gives what was changed.
    pub(super) async fn write(&self, wish: Wish) -> Answer {
        let (answer, waiting) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(Job { wish, answer }).await.map_err(|_| closed())?;
        waiting.await.map_err(|_| closed())?
    }
}

impl Drop for Journal {
    /// Writes what waits, and lets go of the file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(keeper) = self.keeper.take() {
            // A panic there was told to all that waited; there is nobody left to tell.
            let _ = keeper.join();
        }
    }
}

/// Wishes that share a commit. None depends on another one, as each is decided by what is there.
#[derive(Default)]
struct Batch {
    decided: Vec<(Vec<Change>, oneshot::Sender<Answer>)>,
    touched: HashSet<(Arc<str>, Arc<str>)>,
    /// How many more there will be, by namespace.
    pending: HashMap<Arc<str>, usize>,
    is_full: bool,
}

impl Batch {
    /// Takes a job in, or gives it back if it has to wait for the next batch.
    fn take(&mut self, job: Job, spaces: &Spaces) -> Option<Job> {
        let touches = match &job.wish {
            Wish::Register(namespace, registration) if spaces.has(namespace) => {
                Some((namespace.clone(), registration.name.clone()))
            }
            Wish::Unregister(namespace, name) => Some((namespace.clone(), name.clone())),
            // These concern whole namespaces, and are in a batch of their own: so is whoever is the
            // first in one, because a bound counts the namespaces that there are.
            Wish::Register(..) | Wish::Open(_) | Wish::Schema(..) | Wish::Expire(_) => None,
        };
        let must_wait = touches.as_ref().is_none_or(|name| self.touched.contains(name));
        if self.is_full || must_wait && !self.decided.is_empty() {
            return Some(job);
        }
        self.decide(job, spaces, touches);
        None
    }

    fn decide(&mut self, job: Job, spaces: &Spaces, touches: Option<(Arc<str>, Arc<str>)>) {
        let now = spaces.now();
        let pending = touches.as_ref().and_then(|(namespace, _)| self.pending.get(namespace));
        let is_new = match &job.wish {
            Wish::Register(namespace, registration) => {
                !spaces.is_alive(namespace, &registration.name, now)
            }
            _ => false,
        };
        let decision = spaces.decide(job.wish, now, pending.copied().unwrap_or(0));
        match decision {
            Ok(changes) if !changes.is_empty() => {
                self.decided.push((changes, job.answer));
                self.is_full = touches.is_none() || self.decided.len() == MOST;
                if let Some((namespace, name)) = touches {
                    *self.pending.entry(namespace.clone()).or_default() += usize::from(is_new);
                    self.touched.insert((namespace, name));
                }
            }
            // Nothing is to be written. Whoever gave up waiting is not told.
            settled => drop(job.answer.send(settled)),
        }
    }
}

/// How the file is opened, the first time and again.
type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// The thread that writes.
struct Keeper {
    open: Open,
    /// None after a write failed: the file is opened again for the next wish, and what it holds is
    /// what there is, as nobody can say how far the write went.
    database: Option<Database>,
    spaces: Arc<Spaces>,
    account: Arc<Account>,
}

impl Keeper {
    fn database(&mut self) -> Result<&Database, Fault> {
        let database = match self.database.take() {
            Some(database) => database,
            None => {
                let database = (self.open)().map_err(|error| unusable(error.into()))?;
                self.spaces.become_those(load(&database)?);
                database
            }
        };
        Ok(self.database.insert(database))
    }

    fn serve(mut self, mut waiting: mpsc::Receiver<Job>) {
        let mut next: Option<Job> = None;
        while let Some(first) = next.take().or_else(|| waiting.blocking_recv()) {
            if let Err(fault) = self.database() {
                // Whoever gave up waiting is not told.
                let _ = first.answer.send(Err(fault));
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
            self.account.commits.fetch_add(1, Ordering::Relaxed);
            self.account.wishes.fetch_add(batch.decided.len() as u64, Ordering::Relaxed);
            batch.decided.iter().for_each(|(changes, _)| self.spaces.make(changes));
        } else {
            self.database = None;
        }
        for (changes, answer) in batch.decided {
            // Whoever gave up waiting is not told.
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
                Change::Open(namespace) => {
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

/// What the file holds.
fn load(database: &Database) -> Result<Spaces, Fault> {
    // Makes the tables of a new file.
    write(database, [].iter()).map_err(unusable)?;
    let spaces = Spaces::default();
    for change in read(database).map_err(unusable)? {
        spaces.make(&[change?]);
    }
    Ok(spaces)
}

fn read(database: &Database) -> Result<Vec<Result<Change, Fault>>, redb::Error> {
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

fn parse<T: for<'a> serde::Deserialize<'a>>(text: &[u8]) -> Result<T, Fault> {
    let unreadable = |error| Fault::unavailable(format!("the store's file is damaged: {error}"));
    serde_json::from_slice(text).map_err(unreadable)
}

fn unusable(error: redb::Error) -> Fault {
    Fault::unavailable(format!("the store's file cannot be used: {error}"))
}

fn closed() -> Fault {
    Fault::unavailable("the store's file is closed")
}

#[cfg(test)]
mod tests;
