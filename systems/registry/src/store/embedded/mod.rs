//! The store in the coordinator's own memory, with an optional file for durability.
//!
//! For one coordinator. Without a file a restart forgets everything; with one, all acknowledged
//! changes survive a crash.

mod journal;
mod namespaces;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use self::journal::Journal;
use self::namespaces::{Change, ChangeRequest, Namespaces};
use super::{Expired, Figure, Registration, Store, StoredSchema, unknown};
use crate::api_error::ApiError;
use crate::clock::Clock;
use crate::identity::{Identity, Millis};
use crate::query::{Page, Query};
use filtering::Filter;

/// The settings of the store.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The durable file, if there is one; created if it is missing.
    pub file: Option<PathBuf>,
    /// Most namespaces; 0 is unlimited.
    pub namespaces: u64,
    /// The clock for expiry.
    pub clock: Clock,
}

/// A store in memory.
#[derive(Debug)]
pub struct Embedded {
    spaces: Arc<Namespaces>,
    writer: Writer,
}

/// The only writer of the memory.
#[derive(Debug)]
enum Writer {
    Memory(Mutex<()>),
    File(Journal, PathBuf),
}

impl Embedded {
    /// A store without limits that forgets everything when it ends.
    pub fn in_memory() -> Self {
        Self::over(Settings::default())
    }

    /// A store without limits that keeps everything in a file.
    ///
    /// Errors: as [`Embedded::open`]
    pub fn durable(path: &Path) -> Result<Self, ApiError> {
        Self::open(Settings { file: Some(path.to_owned()), ..Settings::default() })
    }

    /// A store with these settings.
    ///
    /// Errors: `UNAVAILABLE` if its file cannot be read, or if another process has it open
    pub fn open(settings: Settings) -> Result<Self, ApiError> {
        let file = settings.file.clone();
        let mut store = Self::over(settings);
        if let Some(path) = file {
            store.writer = Writer::File(Journal::open(&path, Arc::clone(&store.spaces))?, path);
        }
        Ok(store)
    }

    fn over(settings: Settings) -> Self {
        let spaces = Arc::new(Namespaces::new(settings.namespaces, settings.clock));
        Self { spaces, writer: Writer::Memory(Mutex::default()) }
    }

    async fn write(&self, request: ChangeRequest) -> Result<Vec<Change>, ApiError> {
        match &self.writer {
            Writer::Memory(alone) => {
                let _alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
                let changes = self.spaces.decide(request, self.now(), 0)?;
                self.spaces.make(&changes);
                Ok(changes)
            }
            Writer::File(journal, _) => journal.write(request).await,
        }
    }
}

impl Store for Embedded {
    async fn register(
        &self,
        namespace: &str,
        registration: Registration,
    ) -> Result<Arc<Identity>, ApiError> {
        let changes = self.write(ChangeRequest::Register(namespace.into(), registration)).await?;
        let put = changes.into_iter().find_map(|change| match change {
            Change::Put(_, identity) => Some(identity),
            _ => None,
        });
        Ok(put.expect("an admitted registration is applied"))
    }

    async fn unregister(&self, namespace: &str, name: &str) -> Result<bool, ApiError> {
        let changes = self.write(ChangeRequest::Unregister(namespace.into(), name.into())).await?;
        Ok(!changes.is_empty())
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Arc<Identity>>, ApiError> {
        let now = self.now();
        Ok(self
            .spaces
            .with_namespace(namespace, |space| space.view.get(name, now).cloned())
            .flatten())
    }

    async fn find(&self, namespace: &str, query: &Query) -> Result<Page, ApiError> {
        let found =
            self.spaces.with_namespace(namespace, |space| space.view.find(query, self.now()));
        found.ok_or_else(|| unknown(namespace))?
    }

    async fn targets(&self, namespace: &str, filter: &Filter) -> Result<Vec<Arc<str>>, ApiError> {
        let found =
            self.spaces.with_namespace(namespace, |space| space.view.targets(filter, self.now()));
        found.ok_or_else(|| unknown(namespace))
    }

    async fn open(&self, namespace: &str) -> Result<(), ApiError> {
        self.write(ChangeRequest::CreateNamespace(namespace.into())).await.map(drop)
    }

    async fn put_schema(&self, namespace: &str, schema: StoredSchema) -> Result<(), ApiError> {
        self.write(ChangeRequest::Schema(namespace.into(), Arc::new(schema))).await.map(drop)
    }

    async fn schema(&self, namespace: &str) -> Result<Option<Arc<Value>>, ApiError> {
        Ok(self.spaces.with_namespace(namespace, |space| space.schema.clone()).flatten())
    }

    async fn expire(&self, now: Millis) -> Result<Vec<Expired>, ApiError> {
        let changes = self.write(ChangeRequest::Expire(now)).await?.into_iter();
        let gone = changes.filter_map(|change| match change {
            Change::Gone(expired) => Some(expired),
            _ => None,
        });
        Ok(gone.collect())
    }

    fn now(&self) -> Millis {
        self.spaces.now()
    }

    fn counts(&self) -> Vec<(Arc<str>, u64)> {
        let now = self.now();
        self.spaces.with_all(|space| space.view.len_alive(now) as u64)
    }

    fn figures(&self) -> Vec<Figure> {
        let Writer::File(journal, _) = &self.writer else { return Vec::new() };
        let figure = |name, help, value| Figure { name, help, value };
        vec![
            figure(
                "registry_store_commits_total",
                "Commits to the store's file.",
                journal.commit_counts.commits.load(Ordering::Relaxed),
            ),
            figure(
                "registry_store_committed_changes_total",
                "Changes that these commits made durable.",
                journal.commit_counts.requests.load(Ordering::Relaxed),
            ),
        ]
    }

    fn effective(&self) -> Value {
        match &self.writer {
            Writer::Memory(_) => json!({"kind": "embedded", "durable": null}),
            Writer::File(_, path) => json!({"kind": "embedded", "durable": path}),
        }
    }
}
