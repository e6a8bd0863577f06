//! One namespace in memory: identities by name, by expiry, and by indexed fields.
//!
//! A view has no clock: the caller passes the time, and identities that have expired by then are
//! not found, even if they were not removed. It is not synchronised; a store wraps it in a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::api_error::ApiError;
use crate::identity::{Identity, Millis};
use crate::query::order::{Order, Position};
use crate::query::{Page, Query, cursor};
use filtering::Filter;
use filtering::lookup::{Lookup, Slot};
use filtering::path::Path;

/// The identities of one namespace.
#[derive(Debug, Default)]
pub struct View {
    slots: Vec<Option<Arc<Identity>>>,
    free: Vec<Slot>,
    by_name: BTreeMap<Arc<str>, Slot>,
    /// Identities that expire, the next one first.
    by_end: BTreeSet<(Millis, Slot)>,
    lookup: Lookup,
}

impl View {
    /// An empty namespace with these fields indexed: paths below the metadata, as filters write
    /// them (`status`, `place.floor`).
    pub fn new(indexes: &[String]) -> Self {
        let mut view = Self::default();
        view.reindex(indexes);
        view
    }

    /// Inserts an identity, or replaces the one with its name.
    pub fn put(&mut self, identity: Arc<Identity>) {
        self.remove(&identity.name);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot::try_from(self.slots.len() - 1).expect("fewer than four thousand million")
        });
        self.by_name.insert(identity.name.clone(), slot);
        if let Some(end) = identity.expires_at {
            self.by_end.insert((end, slot));
        }
        self.lookup.insert(&identity.metadata, slot);
        self.slots[slot as usize] = Some(identity);
    }

    /// Removes an identity, expired or not.
    pub fn remove(&mut self, name: &str) -> Option<Arc<Identity>> {
        let slot = self.by_name.remove(name)?;
        let identity = self.slots[slot as usize].take()?;
        if let Some(end) = identity.expires_at {
            self.by_end.remove(&(end, slot));
        }
        self.lookup.remove(&identity.metadata, slot);
        self.free.push(slot);
        Some(identity)
    }

    /// The identity with this name, if it has not expired.
    pub fn get(&self, name: &str, now: Millis) -> Option<&Arc<Identity>> {
        let slot = self.by_name.get(name)?;
        self.at(*slot).filter(|identity| identity.is_alive(now))
    }

    /// Number of identities, including expired ones that were not removed.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether it has no identities.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Number of identities that have not expired; the cost grows only with expired identities that
    /// were not removed.
    pub fn len_alive(&self, now: Millis) -> usize {
        self.len() - self.by_end.range(..=(now, Slot::MAX)).count()
    }

    /// One page of identities that match a query.
    ///
    /// Errors: `INVALID_CURSOR`; `INVALID_REQUEST` for an invalid order
    pub fn find(&self, query: &Query, now: Millis) -> Result<Page, ApiError> {
        let order = Order::of(&query.sort_by)?;
        let after = query.cursor.as_deref().map(|text| cursor::read(query, text)).transpose()?;
        if query.filter.is_everybody() && order.is_by_name() {
            return Ok(self.all_by_name(query, after.as_ref(), now));
        }
        let mut found = self.matching(&query.filter, now);
        let total_count = found.len();
        if let Some(after) = &after {
            found.retain(|identity| order.is_behind(identity, after));
        }
        let is_last = found.len() <= query.limit;
        if !is_last {
            found.select_nth_unstable_by(query.limit, |one, other| order.compare(one, other));
            found.truncate(query.limit);
        }
        found.sort_unstable_by(|one, other| order.compare(one, other));
        let last = found.last().filter(|_| !is_last);
        let next_cursor = last.map(|last| cursor::write(query, &order.position(last)));
        Ok(Page { identities: found.into_iter().cloned().collect(), total_count, next_cursor })
    }

    /// The most common list: read in order, and only as far as the page needs.
    fn all_by_name(&self, query: &Query, after: Option<&Position>, now: Millis) -> Page {
        let start = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.name()));
        let behind = self.by_name.range::<str, _>((start, Bound::Unbounded));
        let held = behind.filter_map(|(_, slot)| self.at(*slot));
        let mut alive = held.filter(|identity| identity.is_alive(now));
        let identities: Vec<_> = alive.by_ref().take(query.limit).cloned().collect();
        let last = identities.last().filter(|_| alive.next().is_some());
        let place = last.map(|last| Order::default().position(last));
        let next_cursor = place.map(|place| cursor::write(query, &place));
        Page { identities, total_count: self.len_alive(now), next_cursor }
    }

    /// The names of all that match a filter, in no particular order.
    pub fn targets(&self, filter: &Filter, now: Millis) -> Vec<Arc<str>> {
        let found = self.matching(filter, now).into_iter();
        found.map(|identity| identity.name.clone()).collect()
    }

    /// Expired identities that were not removed, the earliest first.
    pub fn expired(&self, now: Millis) -> Vec<Arc<str>> {
        let due = self.by_end.range(..=(now, Slot::MAX));
        due.filter_map(|(_, slot)| self.at(*slot)).map(|identity| identity.name.clone()).collect()
    }

    /// Removes and returns expired identities, the earliest first. The cost grows only with their
    /// number.
    pub fn expire(&mut self, now: Millis) -> Vec<Arc<str>> {
        let mut gone = Vec::new();
        while let Some((end, slot)) = self.by_end.first().copied()
            && end <= now
        {
            let name = self.at(slot).expect("every end belongs to an identity").name.clone();
            self.remove(&name);
            gone.push(name);
        }
        gone
    }

    /// Indexes these fields, and no others. Invalid paths are not indexed: indexes change the cost
    /// of an answer, never the answer.
    pub fn reindex(&mut self, indexes: &[String]) {
        let fields: BTreeSet<Path> =
            indexes.iter().filter_map(|field| Path::read(field).ok()).collect();
        let slots = &self.slots;
        let all = self.by_name.values().map(|slot| {
            let identity =
                slots[*slot as usize].as_ref().expect("every name belongs to an identity");
            (&identity.metadata, *slot)
        });
        self.lookup.reindex(&fields, all);
    }

    fn at(&self, slot: Slot) -> Option<&Arc<Identity>> {
        self.slots[slot as usize].as_ref()
    }

    fn matching(&self, filter: &Filter, now: Millis) -> Vec<&Arc<Identity>> {
        let is_match = |identity: &&Arc<Identity>| {
            identity.is_alive(now) && filter.matches(&identity.metadata)
        };
        match self.lookup.candidates(filter, self.len()) {
            Some(slots) => {
                slots.into_iter().filter_map(|slot| self.at(slot)).filter(is_match).collect()
            }
            None => {
                let all_identities = self.by_name.values().filter_map(|slot| self.at(*slot));
                all_identities.filter(is_match).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
