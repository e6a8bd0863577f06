//! The store in Redis, shared by several coordinators.
//!
//! Each change is one script: one round trip, executed completely or not at all, on the clock of
//! Redis. Reads use a copy in memory that follows the namespace's log, after asking Redis for new
//! entries. So they see everything that was acknowledged before they began. While Redis is
//! unavailable every operation fails with `UNAVAILABLE` within a time limit; the connection
//! recovers by itself.
//!
//! The keys are in [`scripts::Keys`]. Redis Cluster is not supported: one script cleans up all
//! namespaces.

mod connection;
mod local_copy;
mod scripts;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use self::connection::RedisConnection;
use self::local_copy::{CopyCounts, LocalCopy};
use self::scripts::{Keys, LOG_LENGTH, NAMESPACES, Scripts};
use super::{Expired, Figure, LONGEST_LIFE, Registration, Store, StoredSchema};
use crate::api_error::ApiError;
use crate::identity::{self, Identity, Millis};
use crate::query::{Page, Query};
use filtering::Filter;

/// Most identities that one script removes, so that it does not block others for long.
const EXPIRE_AT_ONCE: usize = 1_000;

/// Most such scripts in a row.
const EXPIRE_ROUNDS: usize = 10;

/// Every this many calls of `expire`, all copies catch up (about once a second). So the copy of a
/// namespace that is only written to does not fall behind its log.
const CATCH_UP_EVERY: u64 = 20;

/// A store in Redis.
#[derive(Debug)]
pub struct Redis {
    connection: Arc<RedisConnection>,
    scripts: Arc<Scripts>,
    copies: Mutex<BTreeMap<Arc<str>, Arc<LocalCopy>>>,
    calls: AtomicU64,
    /// Most namespaces, as an argument for scripts; 0 is unlimited.
    most: String,
}

impl Redis {
    /// Connects to an address such as `redis://127.0.0.1:6379/0`, without a limit of namespaces.
    ///
    /// Errors: `UNAVAILABLE` if the address is invalid or does not answer within a second
    pub async fn connect(url: &str) -> Result<Self, ApiError> {
        let connection = RedisConnection::connect(url).await?;
        let (copies, calls) = (Mutex::default(), AtomicU64::new(0));
        let scripts = Arc::new(Scripts::new());
        Ok(Self { connection, scripts, copies, calls, most: "0".into() })
    }

    /// The same with a limit of namespaces, counted over all coordinators; 0 is unlimited.
    pub fn with_at_most(self, namespaces: u64) -> Self {
        Self { most: namespaces.to_string(), ..self }
    }

    fn copy(&self, namespace: &str) -> Arc<LocalCopy> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copies.get(namespace) {
            return copy.clone();
        }
        let copy =
            Arc::new(LocalCopy::follow(namespace, self.connection.clone(), self.scripts.clone()));
        copies.insert(namespace.into(), copy.clone());
        copy
    }

    /// An up-to-date copy, and the time; `None` if the namespace does not exist.
    async fn fresh(&self, namespace: &str) -> Result<Option<(Arc<LocalCopy>, Millis)>, ApiError> {
        let copy = self.copy(namespace);
        let Some(now) = copy.fresh().await? else {
            // Copies of unknown namespaces are not kept, so requests for them cannot fill the
            // memory.
            self.copies.lock().unwrap_or_else(PoisonError::into_inner).remove(namespace);
            return Ok(None);
        };
        Ok(Some((copy, now)))
    }

    fn all_copies(&self) -> Vec<(Arc<str>, Arc<LocalCopy>)> {
        let copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.iter().map(|(namespace, copy)| (namespace.clone(), copy.clone())).collect()
    }
}

impl Store for Redis {
    async fn register(
        &self,
        namespace: &str,
        registration: Registration,
    ) -> Result<Arc<Identity>, ApiError> {
        let keys = Keys::of(namespace);
        let Registration { name, metadata, ttl_ms, replace, quota } = registration;
        let head = format!(r#"{{"identity":{},"metadata":{}"#, text(&name), text(&metadata));
        let ttl = ttl_ms.map(|ttl| ttl.min(LONGEST_LIFE));
        let given = (ttl.map_or_else(String::new, |ttl| ttl.to_string()), quota.to_string());
        let replaces = if replace { "1" } else { "0" };
        let arguments =
            [namespace, &name, &head, &given.0, replaces, &given.1, LOG_LENGTH, &*self.most];
        let keys = [&*keys.identities, &keys.expiry, &keys.log, &keys.about, NAMESPACES];
        let live = self.connection.live()?;
        let answer: Vec<u64> =
            self.connection.run(&live, &self.scripts.register, &keys, &arguments).await?;
        match answer[..] {
            [0, now] => Ok(Arc::new(Identity {
                name,
                metadata,
                registered_at: now,
                expires_at: ttl.map(|ttl| now + ttl),
            })),
            [2, alive] => Err(super::full(alive)),
            [3, there] => Err(super::too_many_namespaces(there)),
            _ => Err(super::already_registered(&name)),
        }
    }

    async fn unregister(&self, namespace: &str, name: &str) -> Result<bool, ApiError> {
        let keys = Keys::of(namespace);
        let keys = [&*keys.identities, &keys.expiry, &keys.log, &keys.about];
        let live = self.connection.live()?;
        self.connection.run(&live, &self.scripts.unregister, &keys, &[name, LOG_LENGTH]).await
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Arc<Identity>>, ApiError> {
        let fresh = self.fresh(namespace).await?;
        Ok(fresh.and_then(|(copy, now)| copy.contents().view.get(name, now).cloned()))
    }

    async fn find(&self, namespace: &str, query: &Query) -> Result<Page, ApiError> {
        match self.fresh(namespace).await? {
            Some((copy, now)) => copy.contents().view.find(query, now),
            None => Err(super::unknown(namespace)),
        }
    }

    async fn targets(&self, namespace: &str, filter: &Filter) -> Result<Vec<Arc<str>>, ApiError> {
        match self.fresh(namespace).await? {
            Some((copy, now)) => Ok(copy.contents().view.targets(filter, now)),
            None => Err(super::unknown(namespace)),
        }
    }

    async fn open(&self, namespace: &str) -> Result<(), ApiError> {
        let keys = Keys::of(namespace);
        let live = self.connection.live()?;
        let (keys, arguments) = ([&*keys.about, NAMESPACES], [namespace, &*self.most]);
        let there = self.connection.run(&live, &self.scripts.open, &keys, &arguments).await?;
        opened(there)
    }

    async fn put_schema(&self, namespace: &str, schema: StoredSchema) -> Result<(), ApiError> {
        let keys = Keys::of(namespace);
        let keys = [&*keys.schema, &keys.log, &keys.about, NAMESPACES];
        let entry = text(&schema);
        let arguments = [namespace, &entry, LOG_LENGTH, &*self.most];
        let live = self.connection.live()?;
        let there = self.connection.run(&live, &self.scripts.schema, &keys, &arguments).await?;
        opened(there)
    }

    async fn schema(&self, namespace: &str) -> Result<Option<Arc<Value>>, ApiError> {
        let fresh = self.fresh(namespace).await?;
        Ok(fresh.and_then(|(copy, _)| copy.contents().schema.clone()))
    }

    /// Uses the time of Redis, not the caller's. Each name is returned to one coordinator only.
    async fn expire(&self, _now: Millis) -> Result<Vec<Expired>, ApiError> {
        let limit = EXPIRE_AT_ONCE.to_string();
        let mut expired = Vec::new();
        for _ in 0..EXPIRE_ROUNDS {
            let live = self.connection.live()?;
            let arguments = [&*limit, LOG_LENGTH];
            let answer: (Vec<String>, Vec<(String, Vec<String>)>) =
                self.connection.run(&live, &self.scripts.expire, &[NAMESPACES], &arguments).await?;
            let (namespaces, gone) = answer;
            // Follows these namespaces from now on.
            namespaces.iter().for_each(|namespace| drop(self.copy(namespace)));
            let before = expired.len();
            for (namespace, names) in gone {
                let namespace: Arc<str> = namespace.into();
                let gone =
                    |name: String| Expired { namespace: namespace.clone(), name: name.into() };
                expired.extend(names.into_iter().map(gone));
            }
            if expired.len() - before < EXPIRE_AT_ONCE {
                break;
            }
        }
        if self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(CATCH_UP_EVERY) {
            self.all_copies().iter().for_each(|(_, copy)| drop(copy.ask()));
        }
        Ok(expired)
    }

    /// The wall clock of this machine, which is close to that of Redis.
    fn now(&self) -> Millis {
        identity::now()
    }

    /// As of the last read; at most about a second old while [`Store::expire`] is called.
    fn counts(&self) -> Vec<(Arc<str>, u64)> {
        let copies = self.all_copies().into_iter();
        copies.map(|(name, copy)| (name, copy.contents().view.len() as u64)).collect()
    }

    fn figures(&self) -> Vec<Figure> {
        let copies = self.all_copies();
        let sum = |figure: fn(&CopyCounts) -> &AtomicU64| {
            let values = copies.iter().map(|(_, copy)| figure(&copy.counts));
            values.map(|value| value.load(Ordering::Relaxed)).sum()
        };
        let complete = copies.iter().map(|(_, copy)| &copy.counts.complete_at);
        let oldest = complete.map(|at| at.load(Ordering::Relaxed)).filter(|at| *at > 0).min();
        let figure = |name, help, value| Figure { name, help, value };
        vec![
            figure(
                "registry_store_questions_total",
                "Requests to Redis for new entries; concurrent reads share one.",
                sum(|counts| &counts.questions),
            ),
            figure(
                "registry_store_entries_total",
                "Log entries applied to the local copies.",
                sum(|counts| &counts.entries),
            ),
            figure(
                "registry_store_reloads_total",
                "Full reloads of a local copy.",
                sum(|counts| &counts.reloads),
            ),
            figure(
                "registry_store_entries_behind",
                "Entries that the local copies were behind at their last request.",
                sum(|counts| &counts.behind),
            ),
            figure(
                "registry_store_copy_age_milliseconds",
                "Age of the oldest complete local copy; a read waits for a complete one.",
                oldest.map_or(0, |complete_at| identity::now().saturating_sub(complete_at)),
            ),
        ]
    }

    fn effective(&self) -> Value {
        let live = self.connection.live().ok();
        json!({
            "kind": "redis",
            "server": self.connection.address(),
            "version": live.as_ref().map(|live| live.version.to_string()),
            "appends_to_file": live.as_ref().map(|live| live.is_appending),
            "log_length": LOG_LENGTH.parse::<u64>().ok(),
        })
    }
}

/// The result of a script that creates a namespace: `Some` with the number of existing namespaces
/// if there are too many.
fn opened(in_the_way: Option<u64>) -> Result<(), ApiError> {
    in_the_way.map_or(Ok(()), |there| Err(super::too_many_namespaces(there)))
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and JSON values always serialize")
}
