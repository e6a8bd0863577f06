//! Equal requests at the same time: one asks the upstream, the others wait for what it brings.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::key::Key;

/// All requests that others wait for.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Key, watch::Receiver<bool>>>);

/// What a request does about a key.
#[derive(Debug)]
pub(super) enum Boarding {
    /// It asks the upstream, and others wait.
    Lead(Flight),
    /// Another one does.
    Follow(Follower),
}

/// One that others wait for, until it is dropped. If it lands with nothing for them, they ask for themselves; if it is
/// dropped before, they look again, and one of them may lead.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Arc<Flights>,
    key: Key,
    has_nothing: watch::Sender<bool>,
}

/// One that waits.
#[derive(Debug)]
pub(super) struct Follower(watch::Receiver<bool>);

/// What a follower does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Looks for what the other one brought.
    Look,
    /// Asks for itself.
    Ask,
}

impl Flights {
    pub fn board(self: &Arc<Self>, key: &Key) -> Boarding {
        match self.under_way().entry(key.clone()) {
            Entry::Occupied(flight) => Boarding::Follow(Follower(flight.get().clone())),
            Entry::Vacant(place) => {
                let (has_nothing, receiver) = watch::channel(false);
                place.insert(receiver);
                Boarding::Lead(Flight { flights: Arc::clone(self), key: key.clone(), has_nothing })
            }
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Key, watch::Receiver<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// It brings nothing that serves others.
    pub fn land_empty(self) {
        self.has_nothing.send_replace(true);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.under_way().remove(&self.key);
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

    fn lead(boarding: Boarding) -> Flight {
        let Boarding::Lead(flight) = boarding else { panic!("another one leads") };
        flight
    }

    fn follow(boarding: Boarding) -> Follower {
        let Boarding::Follow(follower) = boarding else { panic!("it leads") };
        follower
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_leads_and_the_others_wait_for_what_it_brings() {
        let flights = Arc::new(Flights::default());
        let key = Key::busted(1);
        let late = Instant::now() + Duration::from_secs(10);
        let flight = lead(flights.board(&key));
        lead(flights.board(&Key::busted(2)));
        let (one, other) = (follow(flights.board(&key)), follow(flights.board(&key)));
        let waiting = tokio::spawn(one.wait(late));
        drop(flight);
        assert_eq!(waiting.await.unwrap(), Next::Look);
        // Also one that comes to wait after the landing.
        assert_eq!(other.wait(late).await, Next::Look);
        let flight = lead(flights.board(&key));
        let one = follow(flights.board(&key));
        flight.land_empty();
        assert_eq!(one.wait(late).await, Next::Ask);
        lead(flights.board(&key));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_the_bound() {
        let flights = Arc::new(Flights::default());
        let key = Key::busted(1);
        let flight = lead(flights.board(&key));
        let follower = follow(flights.board(&key));
        let begun = Instant::now();
        assert_eq!(follower.wait(begun + Duration::from_secs(3)).await, Next::Ask);
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
        drop(flight);
    }
}
