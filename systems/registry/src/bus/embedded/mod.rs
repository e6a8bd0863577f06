//! The bus without a server of its own: recipients connect to the registry.
//!
//! A connection is a WebSocket or server-sent events, let in by [`Embedded::subscribe`]; within the
//! process a [`Listener`] is one. Each has a queue of its own, bounded in
//! frames and bytes: whoever reads too slowly fills it and is refused more, and nobody else
//! notices.
//!
//! With a file, what must arrive at a receiver with a name waits for it there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures_util::future::join_all;
use hyper::body::Bytes;
use serde_json::{Value, json};
use serving::stop::Stop;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Bus, Counts, Outcome};
use crate::fanout::ledger::{Account, Enough, Ledger, Speaker, State, Why};
use crate::fanout::parcel::{self, Bounds, Form, Parcels};
use crate::fanout::pause::Pause;
use crate::fault::Fault;
use crate::message::{Acknowledgement, Message, Semantics};
use crate::subscription::table::{Reach, Table};
use crate::subscription::{Pattern, Subscriber};

pub(crate) mod entrance;
mod events;
mod line;
mod outbox;
mod socket;

pub use line::Listener;
use line::Subscription;
use outbox::Outbox;

/// What the embedded bus keeps to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deliveries that may wait for one connection.
    pub queue_frames: usize,
    /// Bytes that may wait for one connection; one delivery may always.
    pub queue_bytes: usize,
    /// Bytes that may wait for all connections together; one delivery may always for each.
    pub all_queue_bytes: usize,
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
    /// Receivers with a name for which something may be stored; one more is as if it had none.
    pub stored_receivers: usize,
    /// Deliveries that may be stored for one receiver.
    pub stored_deliveries: usize,
    /// Bytes that may be stored for one receiver.
    pub stored_bytes: usize,
    /// Bytes that may be stored for all receivers together.
    pub all_stored_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_frames: 4_096,
            queue_bytes: 16 << 20,
            all_queue_bytes: 1 << 30,
            stall: Duration::from_secs(10),
            ping: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(8),
            bounds: Bounds::default(),
            stored_receivers: 10_000,
            stored_deliveries: 100_000,
            stored_bytes: 256 << 20,
            all_stored_bytes: 1 << 30,
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
    outbox: Option<Arc<Outbox>>,
    places: RwLock<Places>,
    next_key: AtomicU64,
    /// Bytes in the queues of all connections.
    queued: Arc<AtomicUsize>,
    stop: Stop,
}

#[derive(Debug, Default)]
struct Places {
    table: Table<Subscription>,
    /// Subscriptions under a durable name, by namespace and name.
    named: HashMap<(Arc<str>, Arc<str>), Arc<Subscription>>,
}

/// The longest time kept free before a deadline for storing.
const RESERVE: Duration = Duration::from_millis(500);

/// Letters that are being stored.
type Storing = Vec<JoinHandle<()>>;

/// A delivery with its bytes, as often as it takes.
#[derive(Debug)]
struct Letter {
    subscription: Arc<Subscription>,
    /// One of its recipients.
    first: Arc<str>,
    bytes: Bytes,
}

impl Embedded {
    /// A bus without subscriptions that stores nothing. The coordinator's name must be unique among
    /// all that ever were; when stopped, connections are told to go.
    pub fn new(coordinator: &str, settings: Settings, counts: Counts, stop: Stop) -> Self {
        Self { room: Arc::new(Room::new(coordinator, settings, counts, stop)) }
    }

    /// The same, with a file for what must arrive at receivers with a name, and with the
    /// subscriptions that it knows, their receivers away.
    ///
    /// Errors: `UNAVAILABLE` if the file cannot be opened or read
    pub fn open(
        path: &Path,
        coordinator: &str,
        settings: Settings,
        counts: Counts,
        stop: Stop,
    ) -> Result<Self, Fault> {
        let place = path.to_owned();
        let open = Box::new(move || redb::Database::create(&place));
        Self::over(open, coordinator, settings, counts, stop)
            .map_err(|error| Fault::unavailable(format!("{}: {error}", path.display())))
    }

    fn over(
        open: outbox::file::Open,
        coordinator: &str,
        settings: Settings,
        counts: Counts,
        stop: Stop,
    ) -> Result<Self, redb::Error> {
        let bounds = outbox::Bounds {
            receivers: settings.stored_receivers,
            deliveries: settings.stored_deliveries,
            bytes: settings.stored_bytes,
            all_bytes: settings.all_stored_bytes,
            retry: settings.longest_retry,
            longest_retry: settings.longest_retry * 8,
        };
        let (outbox, known) = Outbox::open(open, bounds)?;
        let mut room = Room::new(coordinator, settings, counts, stop);
        room.outbox = Some(Arc::new(outbox));
        for known in known {
            if let Ok(pattern) = known.pattern.parse() {
                let away = Subscription::away(&room, &known, pattern);
                room.places_mut().insert(&away, &room);
            }
        }
        Ok(Self { room: Arc::new(room) })
    }

    /// Ends the subscription of a name for good; `false` if there is none.
    pub fn unsubscribe(&self, namespace: &str, name: &str) -> bool {
        let place = (namespace.into(), name.into());
        let named = self.room.places().named.get(&place).cloned();
        named.is_some_and(|subscription| {
            subscription.end(&self.room);
            true
        })
    }

    /// Takes acknowledgements that come over no subscription's own connection; how many of the
    /// deliveries were under way in this namespace.
    pub fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> usize {
        self.room.acknowledge(&words.ack, Speaker::Namespace(namespace), None)
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
        let first = room.ledger.numbers(parcels.all.len());
        let form = Form::new(message, room.ledger.prefix(), None);
        let mut states = Vec::with_capacity(parcels.all.len());
        for (index, parcel) in parcels.all.iter().enumerate() {
            states.push(if Instant::now() >= deadline {
                State::Open(None)
            } else {
                let bytes = form.fill(first + index as u64, parcels.names(index));
                room.counts.sent.one();
                match room.hand(&parcel.subscription, bytes) {
                    Ok(()) => State::Taken,
                    Err(why) => State::Refused(why),
                }
            });
            tokio::task::coop::consume_budget().await;
        }
        parcels.outcomes(states, &mut outcomes);
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
        let owners = parcels.all.iter().map(|parcel| {
            let away = !parcel.subscription.is_present();
            let enough = if away { Enough::Storage } else { Enough::Acknowledgement };
            (parcel.subscription.key(), enough)
        });
        let account = room.ledger.open(&message.namespace, owners);
        let form = Form::new(message, room.ledger.prefix(), Some(""));
        let mut letters = Vec::with_capacity(parcels.all.len());
        let mut storing = Vec::new();
        for (index, parcel) in parcels.all.iter().enumerate() {
            let to = parcels.names(index);
            let mut letter = Letter {
                subscription: Arc::clone(&parcel.subscription),
                first: Arc::clone(&to[0]),
                bytes: form.fill(account.number(index), to),
            };
            if Instant::now() < deadline {
                if letter.subscription.is_present() {
                    room.counts.sent.one();
                    room.attempt(&mut letter, &account, index);
                } else {
                    room.keep(&letter, &account, index, &mut storing);
                }
            }
            letters.push(letter);
            tokio::task::coop::consume_budget().await;
        }
        room.insist(&mut letters, &account, deadline - room.reserve(deadline)).await;
        room.keep_rest(&letters, &account, &mut storing);
        // What is not stored by then may be so later; then it will arrive, and nobody was told.
        let _ = tokio::time::timeout_at(deadline, join_all(storing)).await;
        let states = account.states();
        let stored = states.iter().filter(|state| **state == State::Stored).count();
        room.counts.stored.add(stored as u64);
        parcels.outcomes(states, &mut outcomes);
        outcomes
    }
}

impl Room {
    fn new(coordinator: &str, settings: Settings, counts: Counts, stop: Stop) -> Self {
        Self {
            settings,
            counts,
            ledger: Arc::new(Ledger::new(coordinator)),
            outbox: None,
            places: RwLock::default(),
            next_key: AtomicU64::new(1),
            queued: Arc::default(),
            stop,
        }
    }

    fn places(&self) -> RwLockReadGuard<'_, Places> {
        self.places.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn places_mut(&self) -> RwLockWriteGuard<'_, Places> {
        self.places.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn key(&self) -> u64 {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes acknowledgements, for what is under way and for what is stored; as which receiver of
    /// the outbox, if any.
    fn acknowledge(
        &self,
        deliveries: &[String],
        from: Speaker<'_>,
        receiver: Option<&str>,
    ) -> usize {
        let stored = |id: &str| {
            self.outbox.as_ref().is_some_and(|outbox| outbox.acknowledge(id, from, receiver))
        };
        // Both, always: it may be on its way from the one into the other.
        let known = deliveries.iter().filter(|id| self.ledger.acknowledge(id, from) | stored(id));
        let count = known.count();
        self.counts.acknowledged.add(count as u64);
        self.counts.strayed.add((deliveries.len() - count) as u64);
        count
    }

    /// How long before the deadline storing begins what is not acknowledged, if anything can be.
    fn reserve(&self, deadline: Instant) -> Duration {
        match self.outbox {
            Some(_) => (deadline.saturating_duration_since(Instant::now()) / 4).min(RESERVE),
            None => Duration::ZERO,
        }
    }

    /// Stores a letter beside, if what must arrive is stored for its receiver. It is carried through
    /// also when nobody waits for it any more: half of it would take its receiver's room for ever.
    fn keep(&self, letter: &Letter, account: &Account, index: usize, storing: &mut Storing) {
        let (Some(outbox), Some(stored)) = (&self.outbox, &letter.subscription.stored) else {
            // Its receiver left just now and nothing more is tried for it.
            account.put(index, State::Refused(Why::SubscriberGone));
            return;
        };
        let outbox = Arc::clone(outbox);
        let letter = outbox::Letter {
            key: Arc::clone(stored),
            id: self.ledger.id(account.number(index)),
            bytes: letter.bytes.clone(),
            place: account.place(index),
            is_sent: account.enough(index) == Enough::Acknowledgement,
        };
        storing.push(tokio::spawn(async move { outbox.keep(letter).await }));
    }

    /// Stores what can be stored of what was sent and is not acknowledged.
    fn keep_rest(&self, letters: &[Letter], account: &Account, storing: &mut Storing) {
        for (index, letter) in letters.iter().enumerate() {
            let sent = account.enough(index) == Enough::Acknowledgement;
            if sent && letter.subscription.stored.is_some() && account.is_open(index) {
                self.keep(letter, account, index, storing);
            }
        }
    }

    /// Parcels for those who are served, and the outcomes of those who are not.
    fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        reach: Reach,
    ) -> (Parcels<Subscription>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let mut groups = self.places().table.group(&message.namespace, targets, reach);
        let state = State::Refused(Why::NoSubscriber);
        outcomes.extend(groups.unserved.drain(..).map(|identity| state.outcome(identity)));
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
            && let Some(successor) = self.successor(&letter.subscription, &letter.first)
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
        while account.lacks_after(pause.draw(), deadline).await {
            for (index, letter) in letters.iter_mut().enumerate() {
                // What is being stored is not sent beside.
                let sent = account.enough(index) == Enough::Acknowledgement;
                if sent && account.is_open(index) && !letter.subscription.is_behind() {
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

    fn serves(&self, namespace: &str) -> bool {
        self.room.places().table.has(namespace)
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn effective(&self) -> Value {
        let settings = &self.room.settings;
        json!({
            "kind": "embedded",
            "durable": self.room.outbox.is_some(),
            "queue_frames": settings.queue_frames,
            "queue_bytes": settings.queue_bytes,
            "all_queue_bytes": settings.all_queue_bytes,
            "stored_receivers": settings.stored_receivers,
            "stored_deliveries": settings.stored_deliveries,
            "stored_bytes": settings.stored_bytes,
            "all_stored_bytes": settings.all_stored_bytes,
        })
    }
}

#[cfg(test)]
mod tests;
