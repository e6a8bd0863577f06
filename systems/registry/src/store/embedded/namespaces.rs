//! All namespaces in memory. Each change is first decided, then applied.
//!
//! In between, a durable store writes the change to its file. One writer at a time decides and
//! applies; readers continue meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::api_error::ApiError;
use crate::clock::Clock;
use crate::identity::{Identity, Millis};
use crate::store::view::View;
use crate::store::{
    Expired, LONGEST_LIFE, Registration, StoredSchema, already_registered, full,
    too_many_namespaces,
};

/// A requested change.
#[derive(Debug)]
pub(super) enum ChangeRequest {
    Register(Arc<str>, Registration),
    Unregister(Arc<str>, Arc<str>),
    CreateNamespace(Arc<str>),
    Schema(Arc<str>, Arc<StoredSchema>),
    Expire(Millis),
}

/// A decided change.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Creates the namespace.
    CreateNamespace(Arc<str>),
    Put(Arc<str>, Arc<Identity>),
    Gone(Expired),
    Schema(Arc<str>, Arc<StoredSchema>),
}

/// One namespace.
#[derive(Debug, Default)]
pub(super) struct NamespaceState {
    pub(super) view: View,
    pub(super) schema: Option<Arc<Value>>,
}

/// All namespaces.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    by_name: RwLock<BTreeMap<Arc<str>, Arc<RwLock<NamespaceState>>>>,
    /// Most namespaces; 0 is unlimited.
    most: u64,
    clock: Clock,
}

impl Namespaces {
    pub(super) fn new(most: u64, clock: Clock) -> Self {
        Self { most, clock, ..Self::default() }
    }

    /// The clock by which identities expire.
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Replaces all contents with those of `others`.
    pub(super) fn replace_all(&self, others: Self) {
        let others = others.by_name.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.by_name.write().unwrap_or_else(PoisonError::into_inner) = others;
    }

    /// Reads a namespace; `None` if it does not exist.
    pub(super) fn with_namespace<T>(
        &self,
        namespace: &str,
        see: impl FnOnce(&NamespaceState) -> T,
    ) -> Option<T> {
        let space = self.get(namespace)?;
        let space = space.read().unwrap_or_else(PoisonError::into_inner);
        Some(see(&space))
    }

    /// Calls `see` with each namespace, and returns the results by name.
    pub(super) fn with_all<T>(&self, see: impl Fn(&NamespaceState) -> T) -> Vec<(Arc<str>, T)> {
        let spaces = self.by_name.read().unwrap_or_else(PoisonError::into_inner).clone();
        let with_namespace = |space: &RwLock<NamespaceState>| {
            see(&space.read().unwrap_or_else(PoisonError::into_inner))
        };
        spaces.into_iter().map(|(name, space)| (name, with_namespace(&space))).collect()
    }

    /// Decides a request without changing anything.
    ///
    /// `pending` is the number of identities that earlier decided but unapplied requests add to its
    /// namespace.
    ///
    /// Errors: `ALREADY_EXISTS`, `QUOTA_EXCEEDED`
    pub(super) fn decide(
        &self,
        request: ChangeRequest,
        now: Millis,
        pending: usize,
    ) -> Result<Vec<Change>, ApiError> {
        Ok(match request {
            ChangeRequest::Register(namespace, registration) => {
                let identity = self.admit(&namespace, registration, now, pending)?;
                self.opened(&namespace)?
                    .into_iter()
                    .chain([Change::Put(namespace, identity)])
                    .collect()
            }
            ChangeRequest::Unregister(namespace, name) => {
                let is_there = self.is_alive(&namespace, &name, now);
                let gone = Change::Gone(Expired { namespace, name });
                if is_there { vec![gone] } else { Vec::new() }
            }
            ChangeRequest::CreateNamespace(namespace) => {
                self.opened(&namespace)?.into_iter().collect()
            }
            ChangeRequest::Schema(namespace, schema) => self
                .opened(&namespace)?
                .into_iter()
                .chain([Change::Schema(namespace, schema)])
                .collect(),
            ChangeRequest::Expire(until) => self.due(until).into_iter().map(Change::Gone).collect(),
        })
    }

    /// Applies changes in order.
    pub(super) fn make(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::CreateNamespace(namespace) => self.within(namespace, |_| ()),
                Change::Put(namespace, identity) => {
                    self.within(namespace, |space| space.view.put(identity.clone()));
                }
                Change::Gone(gone) => {
                    self.within(&gone.namespace, |space| drop(space.view.remove(&gone.name)));
                }
                Change::Schema(namespace, schema) => self.within(namespace, |space| {
                    space.view.reindex(&schema.indexes);
                    space.schema = schema.schema.clone();
                }),
            }
        }
    }

    /// Whether this name is registered.
    pub(super) fn is_alive(&self, namespace: &str, name: &str, now: Millis) -> bool {
        self.with_namespace(namespace, |space| space.view.get(name, now).is_some()).unwrap_or(false)
    }

    /// Whether there is a namespace of this name.
    pub(super) fn has(&self, namespace: &str) -> bool {
        self.get(namespace).is_some()
    }

    /// The change that creates a namespace, if it does not exist.
    ///
    /// Errors: `QUOTA_EXCEEDED`: the limit of namespaces is reached
    fn opened(&self, namespace: &Arc<str>) -> Result<Option<Change>, ApiError> {
        if self.has(namespace) {
            return Ok(None);
        }
        let there = self.by_name.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
        if self.most > 0 && there >= self.most {
            return Err(too_many_namespaces(there));
        }
        Ok(Some(Change::CreateNamespace(namespace.clone())))
    }

    fn admit(
        &self,
        namespace: &str,
        registration: Registration,
        now: Millis,
        pending: usize,
    ) -> Result<Arc<Identity>, ApiError> {
        let Registration { name, metadata, ttl_ms, replace, quota } = registration;
        let standing = self.with_namespace(namespace, |space| {
            (space.view.get(&name, now).is_some(), space.view.len_alive(now))
        });
        let (is_there, alive) = standing.unwrap_or_default();
        if is_there && !replace {
            return Err(already_registered(&name));
        }
        let alive = (alive + pending) as u64;
        if !is_there && quota > 0 && alive >= quota {
            return Err(full(alive));
        }
        let expires_at = ttl_ms.map(|ttl| now + ttl.min(LONGEST_LIFE));
        Ok(Arc::new(Identity { name, metadata, registered_at: now, expires_at }))
    }

    /// Expired identities of all namespaces.
    fn due(&self, until: Millis) -> Vec<Expired> {
        let all = self.with_all(|space| space.view.expired(until));
        let of_one = |(namespace, names): (Arc<str>, Vec<Arc<str>>)| {
            names.into_iter().map(move |name| Expired { namespace: namespace.clone(), name })
        };
        all.into_iter().flat_map(of_one).collect()
    }

    fn get(&self, namespace: &str) -> Option<Arc<RwLock<NamespaceState>>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(namespace).cloned()
    }

    /// Changes one namespace; creates it if necessary.
    fn within(&self, namespace: &Arc<str>, change: impl FnOnce(&mut NamespaceState)) {
        let space = self.get(namespace).unwrap_or_else(|| {
            let mut all = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(namespace.clone()).or_default().clone()
        });
        change(&mut space.write().unwrap_or_else(PoisonError::into_inner));
    }
}
