//! The object that threads cast with.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use timer::monotonic;
use tokio::task::JoinSet;

use super::account::Account;
use super::address::Address;
use super::connection::Connection;
use super::nats::Courier;
use super::peer::Peer;
use super::settings::Settings;

/// Sends messages to every peer without ever waiting; one object for all threads.
#[derive(Debug)]
pub struct Caster {
    peers: Vec<(Address, Arc<Peer>)>,
    is_blocking: bool,
    /// What carries; ended with the caster.
    carriers: Mutex<JoinSet<()>>,
}

/// What became of what was cast to one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAccount {
    /// Its address, without user and password.
    pub peer: String,
    /// Messages cast and dropped.
    pub account: Account,
    /// Messages that the other side has; over NATS, that the client took.
    pub taken: u64,
    /// Messages that are neither: they wait, or are under way.
    pub pending: u64,
    /// Whether a connection is open.
    pub is_connected: bool,
    /// Connections that stood.
    pub connections: u64,
    /// Why the last one ended, or none could be had.
    pub trouble: Option<String>,
}

impl Caster {
    /// A caster whose peers are connected to in the background, for ever; call it within a runtime.
    pub fn new(settings: &Settings) -> Self {
        let mut carriers = JoinSet::new();
        let mut peers = Vec::new();
        for address in &settings.peers {
            let peer = Arc::new(Peer::new(number(), settings));
            match address.clone() {
                Address::Tcp(to) => {
                    carriers.spawn(Connection::new(Arc::clone(&peer), to, settings).run());
                }
                Address::Nats(url) => {
                    carriers.spawn(Courier::new(Arc::clone(&peer), url, settings).run());
                }
            }
            peers.push((address.clone(), peer));
        }
        Self { peers, is_blocking: settings.blocking, carriers: Mutex::new(carriers) }
    }

    /// Casts to every peer; what has no room there is dropped and counted.
    pub fn cast(&self, payload: &[u8]) {
        let (lane, now) = (lane(), monotonic());
        self.peers.iter().for_each(|(_, peer)| peer.cast(lane, now, payload));
    }

    /// Casts to one peer after the other, waits for room where a connection is open, and returns how long it waited.
    pub async fn cast_waiting(&self, payload: &[u8]) -> Duration {
        let (lane, now) = (lane(), monotonic());
        let mut waited = Duration::ZERO;
        for (_, peer) in &self.peers {
            waited += peer.cast_waiting(lane, now, payload).await;
        }
        waited
    }

    /// Casts in the way that was set: waits for room if it is `blocking`, and never otherwise. Says how long it waited.
    pub async fn cast_as_set(&self, payload: &[u8]) -> Duration {
        if self.is_blocking {
            return self.cast_waiting(payload).await;
        }
        self.cast(payload);
        Duration::ZERO
    }

    /// What became of what was cast, by peer. `cast = taken + dropped + pending`; while threads cast, each of these is
    /// of its own moment.
    pub fn accounts(&self) -> Vec<PeerAccount> {
        let account = |(address, peer): &(Address, Arc<Peer>)| {
            // In this order, so that nothing is taken that was not yet cast.
            let progress = peer.progress();
            let account = peer.account();
            PeerAccount {
                peer: address.shown(),
                account,
                taken: progress.taken,
                pending: account.cast - account.all_dropped() - progress.taken,
                is_connected: peer.is_connected(),
                connections: progress.connections,
                trouble: progress.trouble,
            }
        };
        self.peers.iter().map(account).collect()
    }

    /// Resolves once every peer is connected.
    pub async fn connected(&self) {
        for (_, peer) in &self.peers {
            peer.until_connected().await;
        }
    }

    /// Resolves once nothing is pending and every peer has the account of it, provided that nothing is cast meanwhile.
    pub async fn settled(&self) {
        for (_, peer) in &self.peers {
            peer.settled().await;
        }
    }

    /// Ends: what is cast from now on is dropped, and so is what the peers do not have by then. Whoever is told so
    /// too late may have counted some of it.
    pub async fn finish(&self, within: Duration) -> Vec<PeerAccount> {
        self.peers.iter().for_each(|(_, peer)| peer.end());
        let mut carriers = self.take_carriers();
        let ended = async { while carriers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(within, ended).await;
        carriers.shutdown().await;
        self.peers.iter().for_each(|(_, peer)| peer.give_up());
        self.accounts()
    }

    fn take_carriers(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.carriers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A number that no other caster has, in all likelihood: 64 random bits of the standard library's.
fn number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Which lane this thread casts in: numbers of threads follow one another, so that few share one.
fn lane() -> usize {
    let mut number = Plain(0);
    thread::current().id().hash(&mut number);
    number.0 as usize
}

/// The number that is hashed, as it is.
struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_follow_one_another_have_lanes_of_their_own() {
        let lanes: Vec<usize> = (0..4)
            .map(|_| thread::spawn(|| (lane(), lane())).join().unwrap())
            .map(|(one, two)| {
                assert_eq!(one, two, "a thread keeps its lane");
                one
            })
            .collect();
        let mut distinct = lanes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), lanes.len());
    }

    #[test]
    fn casters_have_numbers_of_their_own() {
        assert_ne!(number(), number());
    }

    #[tokio::test]
    async fn a_caster_without_peers_has_nothing_to_do() {
        let caster = Caster::new(&Settings::default());
        caster.cast(b"x");
        caster.cast_as_set(b"x").await;
        caster.settled().await;
        assert_eq!(caster.finish(Duration::ZERO).await, []);
    }
}
