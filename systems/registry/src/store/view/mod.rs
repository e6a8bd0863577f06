//! One namespace in memory: who is registered, found by name, by end, and by indexed fields.
//!
//! A view knows no clock: whoever asks says what time it is, and whoever has expired by then is not
//! found, removed or not. It is not shared by itself; a store wraps it in a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fault::Fault;
use crate::filter::Filter;
use crate::identity::{Identity, Millis};
use crate::query::order::Order;
use crate::query::{Page, Query, cursor};

/// Where in [`View::slots`] an identity is.
type Slot = u32;

/// The identities of one namespace.
#[derive(Debug, Default)]
pub struct View {
    slots: Vec<Option<Arc<Identity>>>,
    free: Vec<Slot>,
    by_name: BTreeMap<Arc<str>, Slot>,
    /// Who will cease to be, the next one first.
    by_end: BTreeSet<(Millis, Slot)>,
}

impl View {
    /// An empty namespace with these fields indexed: paths below the metadata, as filters write
    /// them (`status`, `place.floor`).
    pub fn new(indexes: &[String]) -> Self {
        let mut view = Self::default();
        view.reindex(indexes);
        view
    }

    /// Inserts an identity, or replaces the one of its name.
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
        self.slots[slot as usize] = Some(identity);
    }

    /// Takes an identity out, expired or not.
    pub fn remove(&mut self, name: &str) -> Option<Arc<Identity>> {
        let slot = self.by_name.remove(name)?;
        let identity = self.slots[slot as usize].take()?;
        if let Some(end) = identity.expires_at {
            self.by_end.remove(&(end, slot));
        }
        self.free.push(slot);
        Some(identity)
    }

    /// Who goes by this name and is alive.
    pub fn get(&self, name: &str, now: Millis) -> Option<&Arc<Identity>> {
        let slot = self.by_name.get(name)?;
        self.at(*slot).filter(|identity| identity.is_alive(now))
    }

    /// How many are held, those included that expired and were not removed.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether nobody is held.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many are alive; the cost grows with those that expired and were not removed, only.
    pub fn len_alive(&self, now: Millis) -> usize {
        self.len() - self.by_end.range(..=(now, Slot::MAX)).count()
    }

    /// One page of those that a query matches.
    ///
    /// Errors: `INVALID_CURSOR`; `INVALID_REQUEST` for an order that there is not
    pub fn find(&self, query: &Query, now: Millis) -> Result<Page, Fault> {
        let order = Order::of(&query.sort_by)?;
        let after = query.cursor.as_deref().map(|text| cursor::read(query, text)).transpose()?;
        let mut found: Vec<_> = self.matching(&query.filter, now).collect();
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

    /// The names of all that a filter matches, in no order.
    pub fn targets(&self, filter: &Filter, now: Millis) -> Vec<Arc<str>> {
        self.matching(filter, now).map(|identity| identity.name.clone()).collect()
    }

    /// Who has expired and was not removed yet, the first to go first.
    pub fn expired(&self, now: Millis) -> Vec<Arc<str>> {
        let due = self.by_end.range(..=(now, Slot::MAX));
        due.filter_map(|(_, slot)| self.at(*slot)).map(|identity| identity.name.clone()).collect()
    }

    /// Removes who has expired and tells who they were, the first to go first. The cost grows with
    /// those that go, only.
    pub fn expire(&mut self, now: Millis) -> Vec<Arc<str>> {
        let mut gone = Vec::new();
        while let Some((end, slot)) = self.by_end.first().copied()
            && end <= now
        {
            let name = self.at(slot).expect("every end is somebody's").name.clone();
            self.remove(&name);
            gone.push(name);
        }
        gone
    }

    /// Indexes these fields, and no others.
    pub fn reindex(&mut self, _indexes: &[String]) {}

    fn at(&self, slot: Slot) -> Option<&Arc<Identity>> {
        self.slots[slot as usize].as_ref()
    }

    fn matching<'v>(
        &'v self,
        filter: &'v Filter,
        now: Millis,
    ) -> impl Iterator<Item = &'v Arc<Identity>> {
        let alive = self.slots.iter().flatten().filter(move |identity| identity.is_alive(now));
        alive.filter(|identity| filter.matches(&identity.metadata))
    }
}

#[cfg(test)]
mod tests;
