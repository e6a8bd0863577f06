//! The bus without a server of its own: recipients connect to the registry.
//!
//! A connection is a WebSocket or server-sent events, let in by [`Embedded::subscribe`]; within the
//! process a [`Listener`] is one. Each has a queue of its own, bounded in
//! frames and bytes: whoever reads too slowly fills it and is refused more, and nobody else
//! notices.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};
use serving::stop::Stop;
use tokio::time::Instant;

use super::{Bus, Counts, Outcome};
use crate::fanout::ledger::{Account, Enough, Ledger, Speaker, State, Why};
use crate::fanout::parcel::{self, Bounds, Parcel};
use crate::fanout::pause::Pause;
use crate::fault::Fault;
use crate::message::{Acknowledgement, Message, Semantics};
use crate::subscription::table::{Reach, Table};
use crate::subscription::{Pattern, Subscriber};

mod entrance;
mod events;
mod line;
mod socket;

pub use line::Listener;
use line::Subscription;

/// What the embedded bus keeps to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deliveries that may wait for one connection.
    pub queue_frames: usize,
    /// Bytes that may wait for one connection; one delivery may always.
    pub queue_bytes: usize,
    /// A connection that takes nothing for this long is closed.
    pub stall: Duration,
    /// How often a connection is asked whether it is still there; after three in vain it is closed.
    pub ping: Duration,
    /// The first pause before an unacknowledged delivery is sent again.
    pub retry: Duration,
    /// The longest such pause.
    pub longest_retry: Duration,
    /// How large one delivery may be.
    pub bounds: Bounds,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_frames: 4_096,
            queue_bytes: 16 << 20,
            stall: Duration::from_secs(10),
            ping: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(8),
            bounds: Bounds::default(),
        }
    }
}

/// The bus. Clones share everything.
#[derive(Debug, Clone)]
pub struct Embedded {
    room: Arc<Room>,
}

#[derive(Debug)]
struct Room {
    settings: Settings,
    counts: Counts,
    ledger: Arc<Ledger>,
    places: RwLock<Places>,
    next_key: AtomicU64,
    stop: Stop,
}

#[derive(Debug, Default)]
struct Places {
    table: Table<Subscription>,
    /// Subscriptions under a durable name, by namespace and name.
    named: HashMap<(Arc<str>, Arc<str>), Arc<Subscription>>,
}

/// A delivery with its bytes, as often as it takes.
#[derive(Debug)]
struct Letter {
    subscription: Arc<Subscription>,
    to: Vec<Arc<str>>,
    bytes: Bytes,
}

impl Embedded {
    /// A bus without subscriptions. The coordinator's name must be unique among all that ever were;
    /// when stopped, connections are told to go.
    pub fn new(coordinator: &str, settings: Settings, counts: Counts, stop: Stop) -> Self {
        let room = Room {
            settings,
            counts,
            ledger: Arc::new(Ledger::new(coordinator)),
            places: RwLock::default(),
            next_key: AtomicU64::new(1),
            stop,
        };
        Self { room: Arc::new(room) }
    }

    /// Takes acknowledgements that come over no subscription's own connection; how many of the
    /// deliveries were under way in this namespace.
    pub fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> usize {
        self.room.acknowledge(&words.ack, Speaker::Namespace(namespace))
    }

    /// Subscribes within the process: in effect when this returns, until the listener is dropped.
    /// Under a name that is taken, the former receiver is cut off.
    pub fn listen(&self, namespace: &str, pattern: Pattern, name: Option<&str>) -> Listener {
        Listener::enter(&self.room, namespace, pattern, name)
    }

    /// Sent once, to whoever is there.
    async fn once(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let room = &self.room;
        let (parcels, mut outcomes) = room.address(message, targets, Reach::Present);
        let first = room.ledger.numbers(parcels.len());
        for (parcel, number) in parcels.into_iter().zip(first..) {
            let state = if Instant::now() >= deadline {
                State::Open(None)
            } else {
                let bytes = parcel::encode(message, &room.ledger.id(number), &parcel.to, None);
                room.counts.sent.one();
                match room.hand(&parcel.subscription, bytes) {
                    Ok(()) => State::Taken,
                    Err(why) => State::Refused(why),
                }
            };
            outcomes.extend(parcel.to.into_iter().map(|identity| state.outcome(identity)));
            tokio::task::coop::consume_budget().await;
        }
        outcomes
    }

    /// Sent until it is acknowledged or the time is over.
    async fn until_acknowledged(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let room = &self.room;
        let (parcels, mut outcomes) = room.address(message, targets, Reach::Known);
        let owners = parcels.iter().map(|parcel| parcel.subscription.key());
        let owners = owners.map(|key| (key, Enough::Acknowledgement));
        let account = room.ledger.open(&message.namespace, owners);
        let mut letters = Vec::with_capacity(parcels.len());
        for (index, Parcel { subscription, to }) in parcels.into_iter().enumerate() {
            let id = room.ledger.id(account.number(index));
            let bytes = parcel::encode(message, &id, &to, Some(""));
            let mut letter = Letter { subscription, to, bytes };
            if Instant::now() < deadline {
                room.counts.sent.one();
                room.attempt(&mut letter, &account, index);
            }
            letters.push(letter);
            tokio::task::coop::consume_budget().await;
        }
        room.insist(&mut letters, &account, deadline).await;
        for (index, letter) in letters.into_iter().enumerate() {
            let state = account.state(index);
            outcomes.extend(letter.to.into_iter().map(|identity| state.outcome(identity)));
        }
        outcomes
    }
}

impl Room {
    fn places(&self) -> RwLockReadGuard<'_, Places> {
        self.places.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn places_mut(&self) -> RwLockWriteGuard<'_, Places> {
        self.places.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn key(&self) -> u64 {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    fn acknowledge(&self, deliveries: &[String], from: Speaker<'_>) -> usize {
        let count = deliveries.iter().filter(|id| self.ledger.acknowledge(id, from)).count();
        self.counts.acknowledged.add(count as u64);
        self.counts.strayed.add((deliveries.len() - count) as u64);
        count
    }

    /// Parcels for those who are served, and the outcomes of those who are not.
    fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        reach: Reach,
    ) -> (Vec<Parcel<Subscription>>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let (groups, unserved) = self.places().table.group(&message.namespace, targets, reach);
        let state = State::Refused(Why::NoSubscriber);
        outcomes.extend(unserved.into_iter().map(|identity| state.outcome(identity)));
        (parcel::cut(groups, message, self.settings.bounds), outcomes)
    }

    fn hand(&self, subscription: &Subscription, bytes: Bytes) -> Result<(), Why> {
        let handed = subscription.offer(bytes, &self.settings);
        if handed == Err(Why::SlowSubscriber) {
            self.counts.refused.one();
        }
        handed
    }

    /// Hands a letter over, to whoever took the place of a subscription that has ended.
    fn attempt(&self, letter: &mut Letter, account: &Account, index: usize) {
        if !letter.subscription.is_present()
            && let Some(successor) = self.successor(&letter.subscription, &letter.to[0])
        {
            account.pass(index, successor.key());
            letter.subscription = successor;
        }
        let failed = self.hand(&letter.subscription, letter.bytes.clone()).err();
        account.put(index, State::Open(failed));
    }

    fn successor(&self, gone: &Subscription, name: &str) -> Option<Arc<Subscription>> {
        let places = self.places();
        let serving = places.table.serving(&gone.namespace, name, Reach::Present)?;
        (serving.pattern == gone.pattern).then(|| Arc::clone(serving))
    }

    /// Waits for acknowledgements until the deadline and sends again what lacks one. What still
    /// waits in its queue is not sent again: it would only stand there twice.
    async fn insist(&self, letters: &mut [Letter], account: &Account, deadline: Instant) {
        let mut pause = Pause::new(self.settings.retry, self.settings.longest_retry);
        loop {
            let again = Instant::now() + pause.draw();
            tokio::select! {
                biased;
                () = account.settled() => return,
                () = tokio::time::sleep_until(deadline) => return,
                () = tokio::time::sleep_until(again) => {}
            }
            for (index, letter) in letters.iter_mut().enumerate() {
                let open = matches!(account.state(index), State::Open(_));
                if open && !letter.subscription.is_behind() {
                    self.counts.resent.one();
                    self.attempt(letter, account, index);
                }
            }
        }
    }
}

impl Bus for Embedded {
    async fn multicast(
        &self,
        message: Message,
        targets: Vec<Arc<str>>,
        semantics: Semantics,
        timeout: Duration,
    ) -> Vec<Outcome> {
        let deadline = Instant::now() + timeout;
        match semantics {
            Semantics::AtMostOnce => self.once(&message, targets, deadline).await,
            Semantics::AtLeastOnce => self.until_acknowledged(&message, targets, deadline).await,
        }
    }

    async fn forget(&self, namespace: &str, name: &str) {
        let alone = self.room.places().table.alone(namespace, name);
        for subscription in alone {
            subscription.end(&self.room);
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn effective(&self) -> Value {
        let settings = &self.room.settings;
        json!({
            "kind": "embedded",
            "durable": false,
            "queue_frames": settings.queue_frames,
            "queue_bytes": settings.queue_bytes,
        })
    }
}

#[cfg(test)]
mod tests;
