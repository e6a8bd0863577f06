//! Finds the subscription that serves an identity, among any number of them.
//!
//! Names are looked up by hash. Prefixes are sorted: the longest prefix of a name is the greatest
//! entry that is not greater than the name, or a prefix of the part that this entry and the name
//! share. So a few steps find it among any number of prefixes. Each step is a binary search that
//! mostly compares numbers, because it runs for each target of each multicast.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::{Pattern, Subscriber};

/// The subscriptions that may serve a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverScope {
    /// Only those with a present receiver.
    Present,
    /// Also those with an absent receiver; among those with the same pattern, present ones come
    /// first.
    Known,
}

/// All subscriptions, by namespace and pattern.
#[derive(Debug)]
pub struct Table<S> {
    namespaces: HashMap<Arc<str>, NamespaceTable<S>>,
}

#[derive(Debug)]
struct NamespaceTable<S> {
    names: HashMap<Box<str>, Vec<Arc<S>>>,
    /// Sorted by prefix.
    prefixes: Vec<Prefix<S>>,
}

#[derive(Debug)]
struct Prefix<S> {
    /// Its first bytes, as a number with the same order.
    head: u128,
    bytes: Box<[u8]>,
    list: Vec<Arc<S>>,
}

impl<S> Prefix<S> {
    /// Whether it is greater than a text with this head.
    fn is_after(&self, head: u128, text: &[u8]) -> bool {
        match self.head.cmp(&head) {
            Ordering::Less => false,
            Ordering::Equal => *self.bytes > *text,
            Ordering::Greater => true,
        }
    }
}

/// The targets of one subscription.
#[derive(Debug)]
pub struct Group<S> {
    /// The subscription.
    pub subscription: Arc<S>,
    /// Number of its targets.
    pub count: usize,
}

/// Targets grouped by subscription.
#[derive(Debug)]
pub struct Groups<S> {
    /// The subscriptions that serve targets.
    pub groups: Vec<Group<S>>,
    /// The targets, group by group; each group keeps the given order.
    pub targets: Vec<Arc<str>>,
    /// Targets without a subscription.
    pub unserved: Vec<Arc<str>>,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self { namespaces: HashMap::new() }
    }
}

impl<S> Default for NamespaceTable<S> {
    fn default() -> Self {
        Self { names: HashMap::new(), prefixes: Vec::new() }
    }
}

impl<S: Subscriber> Table<S> {
    /// Adds a subscription; it takes precedence over earlier ones with the same pattern.
    pub fn insert(&mut self, namespace: &Arc<str>, pattern: &Pattern, subscription: Arc<S>) {
        let room = self.namespaces.entry(Arc::clone(namespace)).or_default();
        let list = match pattern {
            Pattern::Name(name) => room.names.entry(name.as_str().into()).or_default(),
            Pattern::Prefix(prefix) => room.prefix_mut(prefix.as_bytes()),
        };
        list.push(subscription);
    }

    /// Removes a subscription, if it exists.
    pub fn remove(&mut self, namespace: &str, pattern: &Pattern, key: u64) -> Option<Arc<S>> {
        let room = self.namespaces.get_mut(namespace)?;
        let removed = match pattern {
            Pattern::Name(name) => {
                let list = room.names.get_mut(name.as_str())?;
                let removed = take(list, key)?;
                if list.is_empty() {
                    room.names.remove(name.as_str());
                }
                removed
            }
            Pattern::Prefix(prefix) => {
                let at = room.behind(prefix.as_bytes()).checked_sub(1)?;
                let found = room.prefixes.get_mut(at)?;
                if *found.bytes != *prefix.as_bytes() {
                    return None;
                }
                let removed = take(&mut found.list, key)?;
                if found.list.is_empty() {
                    room.prefixes.remove(at);
                }
                removed
            }
        };
        if room.names.is_empty() && room.prefixes.is_empty() {
            self.namespaces.remove(namespace);
        }
        Some(removed)
    }

    /// Whether there is any subscription in a namespace.
    pub fn has(&self, namespace: &str) -> bool {
        self.namespaces.contains_key(namespace)
    }

    /// Subscriptions to this identity alone.
    pub fn alone(&self, namespace: &str, name: &str) -> Vec<Arc<S>> {
        let list = self.namespaces.get(namespace).and_then(|room| room.names.get(name));
        list.cloned().unwrap_or_default()
    }

    /// The subscription that serves an identity.
    pub fn serving(&self, namespace: &str, name: &str, scope: ReceiverScope) -> Option<&Arc<S>> {
        self.namespaces.get(namespace)?.serving(name, scope, &mut 0)
    }

    /// Groups targets by subscription.
    pub fn group(
        &self,
        namespace: &str,
        targets: Vec<Arc<str>>,
        scope: ReceiverScope,
    ) -> Groups<S> {
        let Some(room) = self.namespaces.get(namespace) else {
            return Groups { groups: Vec::new(), targets: Vec::new(), unserved: targets };
        };
        let most = targets.len().min(room.names.len() + room.prefixes.len());
        let (mut groups, mut unserved) = (Vec::with_capacity(most), Vec::new());
        let mut places: HashMap<u64, usize, BuildHasherDefault<KeyHasher>> =
            HashMap::with_capacity_and_hasher(most, BuildHasherDefault::default());
        let mut served = Vec::with_capacity(targets.len());
        // Neighbours often have the same subscription: stores list identities by name.
        let (mut near, mut place) = (0, 0);
        for target in targets {
            let Some(subscription) = room.serving(&target, scope, &mut near) else {
                unserved.push(target);
                continue;
            };
            let last: Option<&Group<S>> = groups.get(place);
            if !last.is_some_and(|last| Arc::ptr_eq(&last.subscription, subscription)) {
                place = *places.entry(subscription.key()).or_insert_with(|| {
                    groups.push(Group { subscription: Arc::clone(subscription), count: 0 });
                    groups.len() - 1
                });
            }
            groups[place].count += 1;
            served.push((place, target));
        }
        let targets = side_by_side(&groups, served);
        Groups { groups, targets, unserved }
    }
}

/// Sorts targets by group; `served` has the index of each target's group.
fn side_by_side<S>(groups: &[Group<S>], served: Vec<(usize, Arc<str>)>) -> Vec<Arc<str>> {
    if served.is_sorted_by_key(|(place, _)| *place) {
        return served.into_iter().map(|(_, target)| target).collect();
    }
    let mut end = 0;
    let begin = |group: &Group<S>| {
        end += group.count;
        end - group.count
    };
    let mut next: Vec<usize> = groups.iter().map(begin).collect();
    let mut all = vec![None; served.len()];
    for (place, target) in served {
        all[next[place]] = Some(target);
        next[place] += 1;
    }
    all.into_iter().map(|target| target.expect("each has its own position")).collect()
}

/// Hashes keys, which are consecutive and not chosen by clients.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, key: u64) {
        // 2⁶⁴ divided by the golden ratio: consecutive keys differ in the upper bits, too.
        self.0 = (self.0 ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<S: Subscriber> NamespaceTable<S> {
    /// The subscription that serves an identity. `near` is a guess of its place among the prefixes,
    /// and becomes that place.
    fn serving(&self, name: &str, scope: ReceiverScope, near: &mut usize) -> Option<&Arc<S>> {
        let own = if self.names.is_empty() { None } else { self.names.get(name) };
        if let Some(found) = own.and_then(|list| choose(list, scope)) {
            return Some(found);
        }
        let mut rest = name.as_bytes();
        loop {
            *near = self.behind_near(rest, *near);
            let Prefix { bytes, list, .. } = &self.prefixes[near.checked_sub(1)?];
            let shared = shared(bytes, rest);
            if shared < bytes.len() {
                rest = &rest[..shared];
            } else if let Some(found) = choose(list, scope) {
                return Some(found);
            } else {
                // No allowed subscription has this prefix: try a shorter one.
                rest = prefix_before(rest, bytes.len())?;
            }
        }
    }

    /// The index after all prefixes that are not greater than this text.
    fn behind(&self, text: &[u8]) -> usize {
        self.behind_near(text, 0)
    }

    /// The same; without a search if `near` is right.
    fn behind_near(&self, text: &[u8], near: usize) -> usize {
        let head = head(text);
        let is_after = |prefix: &Prefix<S>| prefix.is_after(head, text);
        let (before, behind) = self.prefixes.split_at(near);
        if before.last().is_none_or(|last| !is_after(last)) && behind.first().is_none_or(is_after) {
            return near;
        }
        self.prefixes.partition_point(|prefix| !is_after(prefix))
    }

    /// The subscriptions with this prefix; adds the prefix if it is missing.
    fn prefix_mut(&mut self, bytes: &[u8]) -> &mut Vec<Arc<S>> {
        let mut at = self.behind(bytes);
        if at > 0 && *self.prefixes[at - 1].bytes == *bytes {
            at -= 1;
        } else {
            let prefix = Prefix { head: head(bytes), bytes: bytes.into(), list: Vec::new() };
            self.prefixes.insert(at, prefix);
        }
        &mut self.prefixes[at].list
    }
}

/// The first bytes of a text as a number; a smaller text never has a greater number.
fn head(text: &[u8]) -> u128 {
    let mut first = [0; 16];
    let count = text.len().min(first.len());
    first[..count].copy_from_slice(&text[..count]);
    u128::from_be_bytes(first)
}

/// Removes the subscription with this key from a list.
fn take<S: Subscriber>(list: &mut Vec<Arc<S>>, key: u64) -> Option<Arc<S>> {
    let at = list.iter().position(|subscription| subscription.key() == key)?;
    Some(list.remove(at))
}

/// The part to search after a prefix of this length; `None` after the empty prefix.
fn prefix_before(rest: &[u8], length: usize) -> Option<&[u8]> {
    length.checked_sub(1).map(|shorter| &rest[..shorter])
}

/// Length of the common prefix.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// The last present subscription; otherwise, if the scope allows it, the last one.
fn choose<S: Subscriber>(list: &[Arc<S>], scope: ReceiverScope) -> Option<&Arc<S>> {
    let present = list.iter().rev().find(|subscription| subscription.is_present());
    match scope {
        ReceiverScope::Present => present,
        ReceiverScope::Known => present.or(list.last()),
    }
}

#[cfg(test)]
mod tests;
