//! Request collapsing: of equal requests at the same time one asks the upstream, and the others wait for its answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::key::Key;

/// The keys that a leader is asking for.
#[derive(Debug, Default)]
pub(super) struct Collapsing(Mutex<HashMap<Key, watch::Receiver<bool>>>);

/// What a request does for its key.
#[derive(Debug)]
pub(super) enum Role {
    /// It asks the upstream, and equal requests wait for it.
    Lead(Leader),
    /// It waits for another one.
    Follow(Follower),
}

/// The request that others wait for, until this is dropped. After [`Leader::release_empty`] they ask for themselves; else
/// they look into the cache again, and one of them may lead.
#[derive(Debug)]
pub(super) struct Leader {
    collapsing: Arc<Collapsing>,
    key: Key,
    has_nothing: watch::Sender<bool>,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Follower(watch::Receiver<bool>);

/// What a follower does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Looks into the cache.
    Look,
    /// Asks for itself.
    Ask,
}

impl Collapsing {
    pub fn join(self: &Arc<Self>, key: &Key) -> Role {
        match self.under_way().entry(key.clone()) {
            Entry::Occupied(leader) => Role::Follow(Follower(leader.get().clone())),
            Entry::Vacant(place) => {
                let (has_nothing, receiver) = watch::channel(false);
                place.insert(receiver);
                Role::Lead(Leader { collapsing: Arc::clone(self), key: key.clone(), has_nothing })
            }
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Key, watch::Receiver<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leader {
    /// Its answer cannot serve the others.
    pub fn release_empty(self) {
        self.has_nothing.send_replace(true);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.collapsing.under_way().remove(&self.key);
    }
}

impl Follower {
    /// Waits until the other one has landed, or until then.
    pub async fn wait(mut self, until: Instant) -> Next {
        // The sender goes without a word when what it brought is stored.
        let landed = timeout_at(until, self.0.wait_for(|has_nothing| *has_nothing)).await;
        match landed {
            Ok(Err(_)) => Next::Look,
            Ok(Ok(_)) | Err(_) => Next::Ask,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lead(role: Role) -> Leader {
        let Role::Lead(leader) = role else { panic!("another one leads") };
        leader
    }

    fn follow(role: Role) -> Follower {
        let Role::Follow(follower) = role else { panic!("it leads") };
        follower
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_leads_and_the_others_wait_for_what_it_brings() {
        let collapsing = Arc::new(Collapsing::default());
        let key = Key::busted(1);
        let late = Instant::now() + Duration::from_secs(10);
        let leader = lead(collapsing.join(&key));
        lead(collapsing.join(&Key::busted(2)));
        let (one, other) = (follow(collapsing.join(&key)), follow(collapsing.join(&key)));
        let waiting = tokio::spawn(one.wait(late));
        drop(leader);
        assert_eq!(waiting.await.unwrap(), Next::Look);
        // Also one that comes to wait after the landing.
        assert_eq!(other.wait(late).await, Next::Look);
        let leader = lead(collapsing.join(&key));
        let one = follow(collapsing.join(&key));
        leader.release_empty();
        assert_eq!(one.wait(late).await, Next::Ask);
        lead(collapsing.join(&key));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_the_bound() {
        let collapsing = Arc::new(Collapsing::default());
        let key = Key::busted(1);
        let leader = lead(collapsing.join(&key));
        let follower = follow(collapsing.join(&key));
        let begun = Instant::now();
        assert_eq!(follower.wait(begun + Duration::from_secs(3)).await, Next::Ask);
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
        drop(leader);
    }
}
