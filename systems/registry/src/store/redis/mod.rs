//! The store in Redis, for several coordinators with one truth.
//!
//! Each change is one script, and so one round trip, done whole or not at all, by the clock of
//! Redis. Reads look at a copy in memory that follows the namespace's log, after asking Redis for
//! what is new: they are never behind what was acknowledged before they began. While Redis is away
//! every operation is `UNAVAILABLE` within a bound, and Redis is found again by itself.
//!
//! The keys are in [`scripts::Keys`]. Redis Cluster is not for this: cleaning up works on all
//! namespaces with one script.

mod copy;
mod link;
mod scripts;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use self::copy::{Account, Copy};
use self::link::Link;
use self::scripts::{Keys, LOG_LENGTH, NAMESPACES, Scripts};
use super::{Expired, Figure, LONGEST_LIFE, Registration, Store, StoredSchema};
use crate::fault::Fault;
use crate::identity::{self, Identity, Millis};
use crate::query::{Page, Query};
use filtering::Filter;

/// Most identities that one script takes out, so that it does not keep others waiting for long.
const EXPIRE_AT_ONCE: usize = 1_000;

/// How many such scripts follow upon one another at most.
const EXPIRE_ROUNDS: usize = 10;

/// Every so many calls of `expire` all copies catch up, so that a namespace that is only written to
/// does not fall behind its log: about once a second.
const CATCH_UP_EVERY: u64 = 20;

/// A store in Redis.
#[derive(Debug)]
pub struct Redis {
    link: Arc<Link>,
    scripts: Arc<Scripts>,
    copies: Mutex<BTreeMap<Arc<str>, Arc<Copy>>>,
    calls: AtomicU64,
    /// How many namespaces there may be, as scripts take it; 0 is no bound.
    most: String,
}

impl Redis {
    /// Connects to an address such as `redis://127.0.0.1:6379/0`; without a bound of namespaces.
    ///
    /// Errors: `UNAVAILABLE` if the address is none or nobody answers there within a second
    pub async fn connect(url: &str) -> Result<Self, Fault> {
        let link = Link::connect(url).await?;
        let (copies, calls) = (Mutex::default(), AtomicU64::new(0));
        let scripts = Arc::new(Scripts::new());
        Ok(Self { link, scripts, copies, calls, most: "0".into() })
    }

    /// The same with at most so many namespaces, whoever made them; 0 is no bound.
    pub fn with_at_most(self, namespaces: u64) -> Self {
        Self { most: namespaces.to_string(), ..self }
    }

    fn copy(&self, namespace: &str) -> Arc<Copy> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copies.get(namespace) {
            return copy.clone();
        }
        let copy = Arc::new(Copy::follow(namespace, self.link.clone(), self.scripts.clone()));
        copies.insert(namespace.into(), copy.clone());
        copy
    }

    /// A copy that has everything, and the time; `None` if there is no such namespace.
    async fn fresh(&self, namespace: &str) -> Result<Option<(Arc<Copy>, Millis)>, Fault> {
        let copy = self.copy(namespace);
        let Some(now) = copy.fresh().await? else {
            // Names that nobody uses are not kept, however many are asked for.
            self.copies.lock().unwrap_or_else(PoisonError::into_inner).remove(namespace);
            return Ok(None);
        };
        Ok(Some((copy, now)))
    }

    fn all_copies(&self) -> Vec<(Arc<str>, Arc<Copy>)> {
        let copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.iter().map(|(namespace, copy)| (namespace.clone(), copy.clone())).collect()
    }
}

impl Store for Redis {
    async fn register(
        &self,
        namespace: &str,
        registration: Registration,
    ) -> Result<Arc<Identity>, Fault> {
        let keys = Keys::of(namespace);
        let Registration { name, metadata, ttl_ms, replace, quota } = registration;
        let head = format!(r#"{{"identity":{},"metadata":{}"#, text(&name), text(&metadata));
        let ttl = ttl_ms.map(|ttl| ttl.min(LONGEST_LIFE));
        let given = (ttl.map_or_else(String::new, |ttl| ttl.to_string()), quota.to_string());
        let replaces = if replace { "1" } else { "0" };
        let arguments =
            [namespace, &name, &head, &given.0, replaces, &given.1, LOG_LENGTH, &*self.most];
        let keys = [&*keys.identities, &keys.expiry, &keys.log, &keys.about, NAMESPACES];
        let live = self.link.live()?;
        let answer: Vec<u64> =
            self.link.run(&live, &self.scripts.register, &keys, &arguments).await?;
        match answer[..] {
            [0, now] => Ok(Arc::new(Identity {
                name,
                metadata,
                registered_at: now,
                expires_at: ttl.map(|ttl| now + ttl),
            })),
            [2, alive] => Err(super::full(alive)),
            [3, there] => Err(super::crowded(there)),
            _ => Err(super::taken(&name)),
        }
    }

    async fn unregister(&self, namespace: &str, name: &str) -> Result<bool, Fault> {
        let keys = Keys::of(namespace);
        let keys = [&*keys.identities, &keys.expiry, &keys.log, &keys.about];
        let live = self.link.live()?;
        self.link.run(&live, &self.scripts.unregister, &keys, &[name, LOG_LENGTH]).await
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Arc<Identity>>, Fault> {
        let fresh = self.fresh(namespace).await?;
        Ok(fresh.and_then(|(copy, now)| copy.contents().view.get(name, now).cloned()))
    }

    async fn find(&self, namespace: &str, query: &Query) -> Result<Page, Fault> {
        match self.fresh(namespace).await? {
            Some((copy, now)) => copy.contents().view.find(query, now),
            None => Err(super::unknown(namespace)),
        }
    }

    async fn targets(&self, namespace: &str, filter: &Filter) -> Result<Vec<Arc<str>>, Fault> {
        match self.fresh(namespace).await? {
            Some((copy, now)) => Ok(copy.contents().view.targets(filter, now)),
            None => Err(super::unknown(namespace)),
        }
    }

    async fn open(&self, namespace: &str) -> Result<(), Fault> {
        let keys = Keys::of(namespace);
        let live = self.link.live()?;
        let (keys, arguments) = ([&*keys.about, NAMESPACES], [namespace, &*self.most]);
        let there = self.link.run(&live, &self.scripts.open, &keys, &arguments).await?;
        opened(there)
    }

    async fn put_schema(&self, namespace: &str, schema: StoredSchema) -> Result<(), Fault> {
        let keys = Keys::of(namespace);
        let keys = [&*keys.schema, &keys.log, &keys.about, NAMESPACES];
        let entry = text(&schema);
        let arguments = [namespace, &entry, LOG_LENGTH, &*self.most];
        let live = self.link.live()?;
        let there = self.link.run(&live, &self.scripts.schema, &keys, &arguments).await?;
        opened(there)
    }

    async fn schema(&self, namespace: &str) -> Result<Option<Arc<Value>>, Fault> {
        let fresh = self.fresh(namespace).await?;
        Ok(fresh.and_then(|(copy, _)| copy.contents().schema.clone()))
    }

    /// The time is that of Redis, whatever the caller's clock says. Each name is told to one
    /// coordinator only.
    async fn expire(&self, _now: Millis) -> Result<Vec<Expired>, Fault> {
        let limit = EXPIRE_AT_ONCE.to_string();
        let mut expired = Vec::new();
        for _ in 0..EXPIRE_ROUNDS {
            let live = self.link.live()?;
            let arguments = [&*limit, LOG_LENGTH];
            let answer: (Vec<String>, Vec<(String, Vec<String>)>) =
                self.link.run(&live, &self.scripts.expire, &[NAMESPACES], &arguments).await?;
            let (namespaces, gone) = answer;
            // Followed from now on, if they were not.
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

    /// By the wall clock of this machine, which is only near that of Redis.
    fn now(&self) -> Millis {
        identity::now()
    }

    /// As of the last read, at most about a second ago as long as [`Store::expire`] is called.
    fn counts(&self) -> Vec<(Arc<str>, u64)> {
        let copies = self.all_copies().into_iter();
        copies.map(|(name, copy)| (name, copy.contents().view.len() as u64)).collect()
    }

    fn figures(&self) -> Vec<Figure> {
        let copies = self.all_copies();
        let sum = |figure: fn(&Account) -> &AtomicU64| {
            let values = copies.iter().map(|(_, copy)| figure(&copy.account));
            values.map(|value| value.load(Ordering::Relaxed)).sum()
        };
        let complete = copies.iter().map(|(_, copy)| &copy.account.complete_at);
        let oldest = complete.map(|at| at.load(Ordering::Relaxed)).filter(|at| *at > 0).min();
        let figure = |name, help, value| Figure { name, help, value };
        vec![
            figure(
                "registry_store_questions_total",
                "How often Redis was asked for what is new; reads at the same time share a question.",
                sum(|account| &account.questions),
            ),
            figure(
                "registry_store_entries_total",
                "Entries of the log that were put into the local copies.",
                sum(|account| &account.entries),
            ),
            figure(
                "registry_store_reloads_total",
                "How often a local copy was read anew.",
                sum(|account| &account.reloads),
            ),
            figure(
                "registry_store_entries_behind",
                "How many entries the local copies were behind when they last asked.",
                sum(|account| &account.behind),
            ),
            figure(
                "registry_store_copy_age_milliseconds",
                "How long ago the oldest local copy was complete; a read waits until it is again.",
                oldest.map_or(0, |complete_at| identity::now().saturating_sub(complete_at)),
            ),
        ]
    }

    fn effective(&self) -> Value {
        let live = self.link.live().ok();
        json!({
            "kind": "redis",
            "server": self.link.address(),
            "version": live.as_ref().map(|live| live.version.to_string()),
            "appends_to_file": live.as_ref().map(|live| live.is_appending),
            "log_length": LOG_LENGTH.parse::<u64>().ok(),
        })
    }
}

/// What a script says of a namespace that it was to make: nothing, or how many are in its way.
fn opened(in_the_way: Option<u64>) -> Result<(), Fault> {
    in_the_way.map_or(Ok(()), |there| Err(super::crowded(there)))
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and JSON values always serialize")
}
