//! All namespaces in memory, and what a change to them is: decided first, then made.
//!
//! Between the two a durable store writes the change to its file. Only one may decide and change
//! at a time; reading goes on meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::clock::Clock;
use crate::fault::Fault;
use crate::identity::{Identity, Millis};
use crate::store::view::View;
use crate::store::{Expired, LONGEST_LIFE, Registration, StoredSchema, crowded, full, taken};

/// What somebody wants changed.
#[derive(Debug)]
pub(super) enum Wish {
    Register(Arc<str>, Registration),
    Unregister(Arc<str>, Arc<str>),
    Open(Arc<str>),
    Schema(Arc<str>, Arc<StoredSchema>),
    Expire(Millis),
}

/// What is changed.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// The namespace comes to be.
    Open(Arc<str>),
    Put(Arc<str>, Arc<Identity>),
    Gone(Expired),
    Schema(Arc<str>, Arc<StoredSchema>),
}

/// One namespace.
#[derive(Debug, Default)]
pub(super) struct Space {
    pub(super) view: View,
    pub(super) schema: Option<Arc<Value>>,
}

/// All namespaces.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    by_name: RwLock<BTreeMap<Arc<str>, Arc<RwLock<Space>>>>,
    /// How many there may be; 0 is no bound.
    most: u64,
    clock: Clock,
}

impl Spaces {
    pub(super) fn new(most: u64, clock: Clock) -> Self {
        Self { most, clock, ..Self::default() }
    }

    /// The time by which everybody here expires.
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Forgets everything for what others hold.
    pub(super) fn become_those(&self, others: Self) {
        let others = others.by_name.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.by_name.write().unwrap_or_else(PoisonError::into_inner) = others;
    }

    /// Looks into a namespace; `None` if there is none of that name.
    pub(super) fn look<T>(&self, namespace: &str, see: impl FnOnce(&Space) -> T) -> Option<T> {
        let space = self.get(namespace)?;
        let space = space.read().unwrap_or_else(PoisonError::into_inner);
        Some(see(&space))
    }

    /// Each namespace with what is seen in it.
    pub(super) fn look_at_all<T>(&self, see: impl Fn(&Space) -> T) -> Vec<(Arc<str>, T)> {
        let spaces = self.by_name.read().unwrap_or_else(PoisonError::into_inner).clone();
        let look =
            |space: &RwLock<Space>| see(&space.read().unwrap_or_else(PoisonError::into_inner));
        spaces.into_iter().map(|(name, space)| (name, look(&space))).collect()
    }

    /// What a wish comes to: nothing is changed yet.
    ///
    /// `pending` is how many its namespace will have more when what was decided before is made.
    ///
    /// Errors: `ALREADY_EXISTS`, `QUOTA_EXCEEDED`
    pub(super) fn decide(
        &self,
        wish: Wish,
        now: Millis,
        pending: usize,
    ) -> Result<Vec<Change>, Fault> {
        Ok(match wish {
            Wish::Register(namespace, registration) => {
                let identity = self.admit(&namespace, registration, now, pending)?;
                self.opened(&namespace)?
                    .into_iter()
                    .chain([Change::Put(namespace, identity)])
                    .collect()
            }
            Wish::Unregister(namespace, name) => {
                let is_there = self.is_alive(&namespace, &name, now);
                let gone = Change::Gone(Expired { namespace, name });
                if is_there { vec![gone] } else { Vec::new() }
            }
            Wish::Open(namespace) => self.opened(&namespace)?.into_iter().collect(),
            Wish::Schema(namespace, schema) => self
                .opened(&namespace)?
                .into_iter()
                .chain([Change::Schema(namespace, schema)])
                .collect(),
            Wish::Expire(until) => self.due(until).into_iter().map(Change::Gone).collect(),
        })
    }

    /// Makes changes, in their order.
    pub(super) fn make(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Open(namespace) => self.within(namespace, |_| ()),
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

    /// Whether somebody is registered under this name.
    pub(super) fn is_alive(&self, namespace: &str, name: &str, now: Millis) -> bool {
        self.look(namespace, |space| space.view.get(name, now).is_some()).unwrap_or(false)
    }

    /// Whether there is a namespace of this name.
    pub(super) fn has(&self, namespace: &str) -> bool {
        self.get(namespace).is_some()
    }

    /// What makes a namespace be, if there is none.
    ///
    /// Errors: `QUOTA_EXCEEDED`: there is no room for another one
    fn opened(&self, namespace: &Arc<str>) -> Result<Option<Change>, Fault> {
        if self.has(namespace) {
            return Ok(None);
        }
        let there = self.by_name.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
        if self.most > 0 && there >= self.most {
            return Err(crowded(there));
        }
        Ok(Some(Change::Open(namespace.clone())))
    }

    fn admit(
        &self,
        namespace: &str,
        registration: Registration,
        now: Millis,
        pending: usize,
    ) -> Result<Arc<Identity>, Fault> {
        let Registration { name, metadata, ttl_ms, replace, quota } = registration;
        let standing = self.look(namespace, |space| {
            (space.view.get(&name, now).is_some(), space.view.len_alive(now))
        });
        let (is_there, alive) = standing.unwrap_or_default();
        if is_there && !replace {
            return Err(taken(&name));
        }
        let alive = (alive + pending) as u64;
        if !is_there && quota > 0 && alive >= quota {
            return Err(full(alive));
        }
        let expires_at = ttl_ms.map(|ttl| now + ttl.min(LONGEST_LIFE));
        Ok(Arc::new(Identity { name, metadata, registered_at: now, expires_at }))
    }

    /// Who has expired, everywhere.
    fn due(&self, until: Millis) -> Vec<Expired> {
        let all = self.look_at_all(|space| space.view.expired(until));
        let of_one = |(namespace, names): (Arc<str>, Vec<Arc<str>>)| {
            names.into_iter().map(move |name| Expired { namespace: namespace.clone(), name })
        };
        all.into_iter().flat_map(of_one).collect()
    }

    fn get(&self, namespace: &str) -> Option<Arc<RwLock<Space>>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(namespace).cloned()
    }

    /// Changes one namespace, which comes to be if need be.
    fn within(&self, namespace: &Arc<str>, change: impl FnOnce(&mut Space)) {
        let space = self.get(namespace).unwrap_or_else(|| {
            let mut all = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(namespace.clone()).or_default().clone()
        });
        change(&mut space.write().unwrap_or_else(PoisonError::into_inner));
    }
}
