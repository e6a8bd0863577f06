//! Finds the subscription that serves an identity, among any number of them.
//!
//! Names are looked up by hash. Prefixes are kept in order: the longest prefix of a name is the
//! greatest entry that is not behind the name, or a prefix of what that entry shares with the
//! name; so a few steps find it however many prefixes there are.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::{Pattern, Subscriber};

/// Who may serve a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only those who are there.
    Present,
    /// Also those who are away; of one pattern's, those who are there come first.
    Known,
}

/// All subscriptions, by namespace and pattern.
#[derive(Debug)]
pub struct Table<S> {
    rooms: HashMap<Arc<str>, Room<S>>,
}

#[derive(Debug)]
struct Room<S> {
    names: HashMap<Box<str>, Vec<Arc<S>>>,
    prefixes: BTreeMap<Box<[u8]>, Vec<Arc<S>>>,
}

/// Targets that one subscription serves.
#[derive(Debug)]
pub struct Group<S> {
    /// Who serves them.
    pub subscription: Arc<S>,
    /// In the order given.
    pub targets: Vec<Arc<str>>,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self { rooms: HashMap::new() }
    }
}

impl<S> Default for Room<S> {
    fn default() -> Self {
        Self { names: HashMap::new(), prefixes: BTreeMap::new() }
    }
}

impl<S: Subscriber> Table<S> {
    /// Adds a subscription; it comes before those that have the same pattern already.
    pub fn insert(&mut self, namespace: &Arc<str>, pattern: &Pattern, subscription: Arc<S>) {
        let room = self.rooms.entry(Arc::clone(namespace)).or_default();
        let list = match pattern {
            Pattern::Name(name) => room.names.entry(name.as_str().into()).or_default(),
            Pattern::Prefix(prefix) => room.prefixes.entry(prefix.as_bytes().into()).or_default(),
        };
        list.push(subscription);
    }

    /// Takes a subscription out, if it is there.
    pub fn remove(&mut self, namespace: &str, pattern: &Pattern, key: u64) -> Option<Arc<S>> {
        let room = self.rooms.get_mut(namespace)?;
        let list = match pattern {
            Pattern::Name(name) => room.names.get_mut(name.as_str())?,
            Pattern::Prefix(prefix) => room.prefixes.get_mut(prefix.as_bytes())?,
        };
        let at = list.iter().position(|subscription| subscription.key() == key)?;
        let removed = list.remove(at);
        if list.is_empty() {
            match pattern {
                Pattern::Name(name) => drop(room.names.remove(name.as_str())),
                Pattern::Prefix(prefix) => drop(room.prefixes.remove(prefix.as_bytes())),
            }
        }
        if room.names.is_empty() && room.prefixes.is_empty() {
            self.rooms.remove(namespace);
        }
        Some(removed)
    }

    /// Whether there is any subscription in a namespace.
    pub fn has(&self, namespace: &str) -> bool {
        self.rooms.contains_key(namespace)
    }

    /// Those that stand for this identity alone.
    pub fn alone(&self, namespace: &str, name: &str) -> Vec<Arc<S>> {
        let list = self.rooms.get(namespace).and_then(|room| room.names.get(name));
        list.cloned().unwrap_or_default()
    }

    /// Who serves an identity.
    pub fn serving(&self, namespace: &str, name: &str, reach: Reach) -> Option<&Arc<S>> {
        self.rooms.get(namespace)?.serving(name, reach)
    }

    /// Targets by who serves them, and those whom nobody serves.
    pub fn group(
        &self,
        namespace: &str,
        targets: Vec<Arc<str>>,
        reach: Reach,
    ) -> (Vec<Group<S>>, Vec<Arc<str>>) {
        let Some(room) = self.rooms.get(namespace) else { return (Vec::new(), targets) };
        let mut groups: Vec<Group<S>> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        let mut unserved = Vec::new();
        for target in targets {
            let Some(subscription) = room.serving(&target, reach) else {
                unserved.push(target);
                continue;
            };
            let place = *places.entry(subscription.key()).or_insert_with(|| {
                groups.push(Group { subscription: Arc::clone(subscription), targets: Vec::new() });
                groups.len() - 1
            });
            groups[place].targets.push(target);
        }
        (groups, unserved)
    }
}

impl<S: Subscriber> Room<S> {
    fn serving(&self, name: &str, reach: Reach) -> Option<&Arc<S>> {
        let own = if self.names.is_empty() { None } else { self.names.get(name) };
        if let Some(found) = own.and_then(|list| choose(list, reach)) {
            return Some(found);
        }
        let mut rest = name.as_bytes();
        loop {
            let below = (Bound::Unbounded, Bound::Included(rest));
            let (prefix, list) = self.prefixes.range::<[u8], _>(below).next_back()?;
            let shared = shared(prefix, rest);
            if shared < prefix.len() {
                rest = &rest[..shared];
            } else if let Some(found) = choose(list, reach) {
                return Some(found);
            } else {
                // Nobody fit to serve has this prefix: a shorter one may do.
                rest = prefix_before(rest, prefix.len())?;
            }
        }
    }
}

/// What remains to be looked at behind a prefix of this length; `None` behind the empty one.
fn prefix_before(rest: &[u8], length: usize) -> Option<&[u8]> {
    length.checked_sub(1).map(|shorter| &rest[..shorter])
}

/// How many bytes two strings have in common at their beginning.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// The last one that is there, else, if that is enough, the last one.
fn choose<S: Subscriber>(list: &[Arc<S>], reach: Reach) -> Option<&Arc<S>> {
    let present = list.iter().rev().find(|subscription| subscription.is_present());
    match reach {
        Reach::Present => present,
        Reach::Known => present.or(list.last()),
    }
}

#[cfg(test)]
mod tests;
