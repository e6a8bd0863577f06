//! A coordinator's copy of one namespace, for reads.
//!
//! The copy follows the namespace's log. A read asks for new entries and waits until they are
//! applied, so it sees everything that any coordinator acknowledged before the read began. Reads
//! that arrive during one query share the next one. If the log has a gap, or Redis was restarted or
//! replaced, everything is read again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::connection::{LiveConnection, PATIENCE, RedisConnection};
use super::scripts::{Keys, Scripts};
use crate::api_error::{ApiError, unavailable};
use crate::identity::{Identity, Millis};
use crate::store::StoredSchema;
use crate::store::view::View;

/// Most entries of the log that are read at a time.
const BATCH: usize = 1_000;

/// How often everything is read again within one query before it fails.
const RELOADS: usize = 3;

/// The namespace as of the last query.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) view: View,
    pub(super) schema: Option<Arc<Value>>,
}

/// Counts of the copy, for metrics.
#[derive(Debug, Default)]
pub(super) struct CopyCounts {
    pub(super) questions: AtomicU64,
    pub(super) entries: AtomicU64,
    pub(super) reloads: AtomicU64,
    /// Number of entries that the copy was behind at the last query.
    pub(super) behind: AtomicU64,
    /// When it was last complete, on the clock of Redis; 0 before the first time.
    pub(super) complete_at: AtomicU64,
}

/// When the copy was complete, on the clock of Redis; `None` if the namespace does not exist.
type CompleteAt = Result<Option<Millis>, ApiError>;

/// A local copy; clones share it.
#[derive(Debug)]
pub(super) struct LocalCopy {
    contents: Arc<RwLock<Contents>>,
    pub(super) counts: Arc<CopyCounts>,
    questions: mpsc::UnboundedSender<oneshot::Sender<CompleteAt>>,
}

impl LocalCopy {
    /// Starts to follow a namespace; nothing is read before the first query.
    pub(super) fn follow(
        namespace: &str,
        connection: Arc<RedisConnection>,
        scripts: Arc<Scripts>,
    ) -> Self {
        let (questions, asked) = mpsc::unbounded_channel();
        let contents = Arc::new(RwLock::new(Contents::default()));
        let counts = Arc::new(CopyCounts::default());
        let follower = Follower {
            keys: Keys::of(namespace),
            connection,
            scripts,
            contents: contents.clone(),
            counts: counts.clone(),
            at: Position::default(),
        };
        tokio::spawn(follower.serve(asked));
        Self { contents, counts, questions }
    }

    /// Waits until all earlier acknowledged changes are in the copy, and returns the time.
    ///
    /// Errors: `UNAVAILABLE`, at the latest after twice [`PATIENCE`]
    pub(super) async fn fresh(&self) -> CompleteAt {
        let waiting = tokio::time::timeout(2 * PATIENCE, self.ask()).await;
        let late =
            || Err(unavailable("the store's copy of this namespace is not ready; retry later"));
        waiting.map_or_else(|_| late(), |answer| answer.unwrap_or_else(|_| late()))
    }

    /// Makes it catch up, without waiting for it.
    pub(super) fn ask(&self) -> oneshot::Receiver<CompleteAt> {
        let (answer, waiting) = oneshot::channel();
        // Without a follower the sender is dropped, which ends the wait.
        let _ = self.questions.send(answer);
        waiting
    }

    /// The contents as of the last query.
    pub(super) fn contents(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a copy has read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    /// The run of Redis that was read; empty before the first.
    run: Arc<str>,
    epoch: String,
    /// Number of the last applied entry.
    entry: u64,
}

impl Default for Position {
    fn default() -> Self {
        Self { run: "".into(), epoch: String::new(), entry: 0 }
    }
}

/// An entry of the log: its id, and the changes by their kinds.
type Entry = (String, Vec<(String, Vec<u8>)>);

/// The result of the script `since`: now, epoch, the newest entry's number, entries.
type LogReply = (Millis, String, u64, Vec<Entry>);

/// The result of one read of the log.
enum Progress {
    Complete(Option<Millis>),
    More,
    Torn,
}

/// The task that updates a copy.
struct Follower {
    keys: Keys,
    connection: Arc<RedisConnection>,
    scripts: Arc<Scripts>,
    contents: Arc<RwLock<Contents>>,
    counts: Arc<CopyCounts>,
    at: Position,
}

impl Follower {
    /// Answers all waiting queries with one read of the log, until the last user is gone.
    async fn serve(mut self, mut asked: mpsc::UnboundedReceiver<oneshot::Sender<CompleteAt>>) {
        while let Some(first) = asked.recv().await {
            // Only queries that arrived before the read begins: it may miss changes that later
            // queries must see.
            let mut waiting = vec![first];
            while let Ok(another) = asked.try_recv() {
                waiting.push(another);
            }
            let answer = self.catch_up().await;
            if let Ok(Some(now)) = answer {
                self.counts.complete_at.store(now, Ordering::Relaxed);
            }
            for one in waiting {
                // The waiting request may be gone.
                let _ = one.send(answer.clone());
            }
        }
    }

    async fn catch_up(&mut self) -> CompleteAt {
        self.counts.questions.fetch_add(1, Ordering::Relaxed);
        let mut reloads = 0;
        let mut is_first_look = true;
        loop {
            let live = self.connection.live()?;
            match self.read_log(&live, is_first_look).await? {
                Progress::Complete(answer) => return Ok(answer),
                Progress::More => is_first_look = false,
                Progress::Torn if reloads == RELOADS => {
                    return Err(unavailable("the store changes faster than it can be read"));
                }
                Progress::Torn => {
                    reloads += 1;
                    self.reload(&live).await?;
                }
            }
        }
    }

    /// Reads the next entries of the log and applies them.
    async fn read_log(
        &mut self,
        live: &LiveConnection,
        is_first: bool,
    ) -> Result<Progress, ApiError> {
        let keys = [&*self.keys.about, &*self.keys.log];
        let (last, batch) = (self.at.entry.to_string(), BATCH.to_string());
        let arguments = [&*self.at.epoch, &*last, &*batch];
        let (now, epoch, newest, entries): LogReply =
            self.connection.run(live, &self.scripts.since, &keys, &arguments).await?;
        if epoch.is_empty() {
            self.forget();
            return Ok(Progress::Complete(None));
        }
        let is_same = self.at.run == live.run && self.at.epoch == epoch;
        if !is_same || newest < self.at.entry {
            return Ok(Progress::Torn);
        }
        if is_first {
            self.counts.behind.store(newest - self.at.entry, Ordering::Relaxed);
        }
        if newest == self.at.entry {
            return Ok(Progress::Complete(Some(now)));
        }
        self.counts.entries.fetch_add(entries.len() as u64, Ordering::Relaxed);
        if !self.apply_entries(entries)? {
            return Ok(Progress::Torn);
        }
        Ok(if self.at.entry >= newest { Progress::Complete(Some(now)) } else { Progress::More })
    }

    /// Applies consecutive entries; `false` if one is missing.
    fn apply_entries(&mut self, entries: Vec<Entry>) -> Result<bool, ApiError> {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let before = self.at.entry;
        for (id, changes) in entries {
            let number = id.split('-').next().and_then(|number| number.parse().ok());
            if number != Some(self.at.entry + 1) {
                return Ok(false);
            }
            for (kind, value) in changes {
                apply(&mut contents, &kind, &value)?;
            }
            self.at.entry += 1;
        }
        Ok(self.at.entry > before)
    }

    /// Reads everything again. Changes made meanwhile are in the log after the position from which
    /// the copy continues; applying them twice does no harm.
    async fn reload(&mut self, live: &LiveConnection) -> Result<(), ApiError> {
        self.counts.reloads.fetch_add(1, Ordering::Relaxed);
        let keys = [&*self.keys.about, &*self.keys.schema];
        let (epoch, entry, schema): (String, u64, Vec<u8>) =
            self.connection.run(live, &self.scripts.here, &keys, &[]).await?;
        let schema: StoredSchema =
            if schema.is_empty() { StoredSchema::default() } else { read(&schema)? };
        let mut view = View::new(&schema.indexes);
        let mut cursor = 0;
        loop {
            let (next, fields) = self.connection.scan(live, &self.keys.identities, cursor).await?;
            for (_, identity) in fields {
                view.put(Arc::new(read(&identity)?));
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        self.replace(Contents { view, schema: schema.schema });
        self.at = Position { run: live.run.clone(), epoch, entry };
        Ok(())
    }

    /// The namespace does not exist, or no longer.
    fn forget(&mut self) {
        if self.at != Position::default() {
            self.replace(Contents::default());
            self.at = Position::default();
        }
    }

    fn replace(&self, contents: Contents) {
        let mut place = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        *place = contents;
    }
}

fn apply(contents: &mut Contents, kind: &str, value: &[u8]) -> Result<(), ApiError> {
    match kind {
        "put" => contents.view.put(Arc::new(read::<Identity>(value)?)),
        "gone" => drop(contents.view.remove(&String::from_utf8_lossy(value))),
        "schema" => {
            let entry: StoredSchema = read(value)?;
            contents.view.reindex(&entry.indexes);
            contents.schema = entry.schema;
        }
        _ => return Err(unreadable(&format!("an entry of kind {kind:?}"))),
    }
    Ok(())
}

fn read<T: for<'a> Deserialize<'a>>(text: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(text).map_err(|error| unreadable(&error.to_string()))
}

/// Another program wrote to the registry's keys.
fn unreadable(what: &str) -> ApiError {
    unavailable(format!("the store contains data of another program: {what}"))
}
