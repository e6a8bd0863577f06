//! The thread that alone writes to the file.
//!
//! Writes that arrive during a commit share the next one, so that they share one sync. A write is
//! answered when it is on the disk.
//!
//! A damaged file is found out at the start, where all of it is read and held against its checksums. While it is used
//! redb does not look at them, and panics on what makes no sense: every call of it is [`Watched`], and a file that makes
//! no sense is not touched again. One that the disk did not give or take for now is opened again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use redb::{Database, DatabaseError};
use tokio::sync::{mpsc, oneshot};

use super::{LEARNED, ORIGIN, ROWS, Write};
use crate::api_error::ApiError;
use crate::guarded::Guarded;
use crate::watched::{Watched, check};

/// How many bytes share a commit; the write that exceeds it is the last in it.
const MOST: usize = 8 << 20;

/// Writes that may wait; further callers wait before theirs is queued.
const QUEUE: usize = 1_024;

/// How the file is opened, the first time and again.
pub(super) type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// The file, as writer and readers share it.
#[derive(Debug)]
struct File {
    /// `None` after a failed write: the file is opened again, because how far the write got is
    /// unknown.
    database: RwLock<Option<Guarded<Database>>>,
    /// Whether it could not be read: redb gives nothing more of it then, and it is opened again.
    is_stale: AtomicBool,
    watched: Watched,
}

impl File {
    fn reading(&self) -> RwLockReadGuard<'_, Option<Guarded<Database>>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, Option<Guarded<Database>>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> ApiError {
        self.watched.unusable("it is closed")
    }
}

/// A write on its way to the file; without one, the file is only to be opened again.
struct Job {
    write: Option<Write>,
    answer: oneshot::Sender<Result<(), ApiError>>,
}

/// Where writes go, and where is read.
#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<File>,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

impl Journal {
    /// Opens the file.
    ///
    /// Errors: it cannot be read; it is damaged, or was found so before
    pub(super) fn begin(open: Open, path: Option<PathBuf>) -> Result<Self, ApiError> {
        let watched = Watched::new("the file of rows cannot be used", path);
        watched.admit()?;
        let (database, is_stale) = (RwLock::default(), AtomicBool::default());
        let file = Arc::new(File { database, is_stale, watched });
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let commits = Arc::<AtomicU64>::default();
        let writer = Writer { open, file: file.clone(), commits: commits.clone() };
        writer.open(check)?;
        let thread = std::thread::Builder::new()
            .name("search-file".into())
            .spawn(move || writer.serve(waiting))
            .map_err(|error| file.watched.unusable(error))?;
        Ok(Self { file, jobs: Some(jobs), thread: Some(thread), commits })
    }

    /// How often the disk was waited for, each time for all that waited.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns when it is on the disk.
    pub(super) async fn write(&self, write: Write) -> Result<(), ApiError> {
        let (answer, waiting) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(|| self.closed())?;
        jobs.send(Job { write: Some(write), answer }).await.map_err(|_| self.closed())?;
        waiting.await.map_err(|_| self.closed())?
    }

    /// Reads.
    pub(super) fn with<T>(
        &self,
        look: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, ApiError> {
        self.file.watched.check()?;
        let seen = self.file.reading().as_ref().map(|it| self.file.watched.call(|| look(it)));
        let seen = seen.unwrap_or_else(|| {
            Err(self.file.watched.unusable("a write failed, and it is opened again"))
        });
        if seen.is_err() {
            self.have_opened_again();
        }
        seen
    }

    fn have_opened_again(&self) {
        if self.file.reading().is_some() {
            self.file.is_stale.store(true, Ordering::Relaxed);
        }
        if let Some(jobs) = &self.jobs {
            // If so many writes wait, one of them has the file opened.
            let _ = jobs.try_send(Job { write: None, answer: oneshot::channel().0 });
        }
    }

    /// Reports that the file does not have what was written.
    pub(super) fn damaged(&self, why: &str) -> ApiError {
        self.file.watched.damaged(why)
    }

    fn closed(&self) -> ApiError {
        self.file.closed()
    }
}

impl Drop for Journal {
    /// Writes what waits, and lets go of the file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported to all waiting callers by their dropped channels.
            let _ = thread.join();
        }
    }
}

/// The thread's own.
struct Writer {
    open: Open,
    file: Arc<File>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Opens the file if it is not.
    fn open(&self, check: fn(&mut Database) -> Result<(), redb::Error>) -> Result<(), ApiError> {
        self.file.watched.check()?;
        let mut database = self.file.writing();
        if self.file.is_stale.swap(false, Ordering::Relaxed) {
            *database = None;
        }
        if database.is_none() {
            let opened = self.file.watched.call(|| {
                let mut database = Guarded::new((self.open)()?);
                check(&mut database)?;
                // Makes the tables of a new file.
                commit(&database, &[])?;
                Ok(database)
            });
            *database = Some(opened?);
        }
        Ok(())
    }

    fn serve(self, mut waiting: mpsc::Receiver<Job>) {
        while let Some(first) = waiting.blocking_recv() {
            let (mut writes, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
            let mut take = |job: Job| {
                answers.push(job.answer);
                bytes += job.write.as_ref().map_or(0, size);
                writes.extend(job.write);
                bytes < MOST
            };
            let mut is_room = take(first);
            while is_room && let Ok(job) = waiting.try_recv() {
                is_room = take(job);
            }
            let written = self.write(&writes);
            // The waiting caller may have gone.
            answers.into_iter().for_each(|answer| drop(answer.send(written.clone())));
        }
    }

    fn write(&self, writes: &[Write]) -> Result<(), ApiError> {
        // One that was whole at the start needs not be read again.
        self.open(|_| Ok(()))?;
        if writes.is_empty() {
            return Ok(());
        }
        let written = match &*self.file.reading() {
            Some(database) => self.file.watched.call(|| commit(database, writes)),
            None => Err(self.file.closed()),
        };
        match written {
            Ok(()) => drop(self.commits.fetch_add(1, Ordering::Relaxed)),
            Err(_) => *self.file.writing() = None,
        }
        written
    }
}

fn size(write: &Write) -> usize {
    write.put.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Writes changes to the disk: all of them, or none.
fn commit(database: &Database, writes: &[Write]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    [ROWS, LEARNED, ORIGIN]
        .iter()
        .try_for_each(|&table| transaction.open_table(table).map(drop))?;
    for write in writes {
        if write.drop {
            transaction.delete_table(write.table)?;
        }
        let mut table = transaction.open_table(write.table)?;
        for (name, value) in &write.put {
            table.insert(name.as_str(), value.as_slice())?;
        }
        for name in &write.delete {
            table.remove(name.as_str())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests;
