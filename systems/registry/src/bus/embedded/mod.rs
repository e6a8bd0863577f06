//! The bus without a separate server: receivers connect to the registry.
//!
//! Receivers connect by WebSocket or server-sent events through [`Embedded::subscribe`], or within
//! the process by a [`Listener`]. Each connection has its own queue, limited in frames and bytes. A
//! slow reader fills its own queue, and further deliveries to it are refused; others are not
//! affected.
//!
//! With a file, at-least-once deliveries for an absent named receiver are stored.

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
use crate::api_error::{ApiError, unavailable};
use crate::fanout::backoff::Backoff;
use crate::fanout::delivery::{self, Deliveries, DeliveryLimits, HeaderTemplate};
use crate::fanout::tracker::{
    AckSource, DeliveryState, DeliveryTracker, FailureReason, MulticastTracker, SettledBy,
};
use crate::message::{Acknowledgement, Message, Semantics};
use crate::subscription::table::{ReceiverScope, Table};
use crate::subscription::{Pattern, Subscriber};

mod events;
pub(crate) mod handshake;
mod outbox;
mod queue;
mod socket;

use outbox::Outbox;
pub use queue::Listener;
use queue::Subscription;

/// The settings of the embedded bus.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deliveries that may wait for one connection.
    pub queue_frames: usize,
    /// Bytes that may wait for one connection; one delivery is always allowed.
    pub queue_bytes: usize,
    /// Bytes that may wait for all connections together; one delivery for each is always allowed.
    pub all_queue_bytes: usize,
    /// Time without progress after which a connection is closed.
    pub stall: Duration,
    /// Interval of pings; after three without an answer the connection is closed.
    pub ping: Duration,
    /// The first pause before an unacknowledged delivery is sent again.
    pub retry: Duration,
    /// The longest such pause.
    pub longest_retry: Duration,
    /// Largest delivery.
    pub bounds: DeliveryLimits,
    /// Named receivers with stored deliveries; further ones are treated as unnamed.
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
            bounds: DeliveryLimits::default(),
            stored_receivers: 10_000,
            stored_deliveries: 100_000,
            stored_bytes: 256 << 20,
            all_stored_bytes: 1 << 30,
        }
    }
}

/// The bus. Clones share its state.
#[derive(Debug, Clone)]
pub struct Embedded {
    state: Arc<BusState>,
}

#[derive(Debug)]
struct BusState {
    settings: Settings,
    counts: Counts,
    tracker: Arc<DeliveryTracker>,
    outbox: Option<Arc<Outbox>>,
    subscriptions: RwLock<Subscriptions>,
    next_key: AtomicU64,
    /// Bytes in the queues of all connections.
    queued: Arc<AtomicUsize>,
    stop: Stop,
}

#[derive(Debug, Default)]
struct Subscriptions {
    table: Table<Subscription>,
    /// Subscriptions with a durable name, by namespace and name.
    named: HashMap<(Arc<str>, Arc<str>), Arc<Subscription>>,
}

/// The longest time before a deadline that is reserved for storing.
const RESERVE: Duration = Duration::from_millis(500);

/// Deliveries that are being stored.
type PendingStores = Vec<JoinHandle<()>>;

/// A delivery with its bytes, which may be sent several times.
#[derive(Debug)]
struct SentDelivery {
    subscription: Arc<Subscription>,
    /// One of its recipients.
    first: Arc<str>,
    bytes: Bytes,
}

impl Embedded {
    /// A bus without subscriptions and without storage. The coordinator's name must be unique for
    /// all time. A stop closes all connections.
    pub fn new(coordinator: &str, settings: Settings, counts: Counts, stop: Stop) -> Self {
        Self { state: Arc::new(BusState::new(coordinator, settings, counts, stop)) }
    }

    /// The same, with a file for at-least-once deliveries to named receivers. The subscriptions in
    /// the file are restored, with their receivers absent.
    ///
    /// Errors: `UNAVAILABLE` if the file cannot be opened or read
    pub fn open(
        path: &Path,
        coordinator: &str,
        settings: Settings,
        counts: Counts,
        stop: Stop,
    ) -> Result<Self, ApiError> {
        let path_owned = path.to_owned();
        let open = Box::new(move || redb::Database::create(&path_owned));
        Self::over(open, coordinator, settings, counts, stop)
            .map_err(|error| unavailable(format!("{}: {error}", path.display())))
    }

    fn over(
        open: outbox::file::Open,
        coordinator: &str,
        settings: Settings,
        counts: Counts,
        stop: Stop,
    ) -> Result<Self, redb::Error> {
        let bounds = outbox::OutboxLimits {
            receivers: settings.stored_receivers,
            deliveries: settings.stored_deliveries,
            bytes: settings.stored_bytes,
            all_bytes: settings.all_stored_bytes,
            retry: settings.longest_retry,
            longest_retry: settings.longest_retry * 8,
        };
        let (outbox, known) = Outbox::open(open, bounds)?;
        let mut state = BusState::new(coordinator, settings, counts, stop);
        state.outbox = Some(Arc::new(outbox));
        for known in known {
            if let Ok(pattern) = known.pattern.parse() {
                let away = Subscription::away(&state, &known, pattern);
                state.subscriptions_mut().insert(&away, &state);
            }
        }
        Ok(Self { state: Arc::new(state) })
    }

    /// Removes a named subscription; `false` if it does not exist.
    pub fn unsubscribe(&self, namespace: &str, name: &str) -> bool {
        let key = (namespace.into(), name.into());
        let named = self.state.subscriptions().named.get(&key).cloned();
        named.is_some_and(|subscription| {
            subscription.end(&self.state);
            true
        })
    }

    /// Accepts acknowledgements that do not come over a subscription's own connection; returns how
    /// many of the deliveries were pending in this namespace.
    pub fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> usize {
        self.state.acknowledge(&words.ack, AckSource::Namespace(namespace), None)
    }

    /// Subscribes within the process: active when this returns, until the listener is dropped. If
    /// the name is already in use, the former receiver is disconnected.
    pub fn listen(&self, namespace: &str, pattern: Pattern, name: Option<&str>) -> Listener {
        Listener::subscribe_as(&self.state, namespace, pattern, name)
    }

    /// Sends once, to the connected receivers.
    async fn send_once(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let bus = &self.state;
        let (deliveries, mut outcomes) = bus.address(message, targets, ReceiverScope::Present);
        let first = bus.tracker.numbers(deliveries.all.len());
        let template = HeaderTemplate::new(message, bus.tracker.prefix(), None);
        let mut states = Vec::with_capacity(deliveries.all.len());
        for (index, delivery) in deliveries.all.iter().enumerate() {
            states.push(if Instant::now() >= deadline {
                DeliveryState::Open(None)
            } else {
                let bytes = template.fill(first + index as u64, deliveries.names(index));
                bus.counts.sent.one();
                match bus.enqueue(&delivery.subscription, bytes) {
                    Ok(()) => DeliveryState::Taken,
                    Err(why) => DeliveryState::Refused(why),
                }
            });
            tokio::task::coop::consume_budget().await;
        }
        deliveries.outcomes(states, &mut outcomes);
        outcomes
    }

    /// Sends until acknowledged or until the deadline.
    async fn until_acknowledged(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let bus = &self.state;
        let (deliveries, mut outcomes) = bus.address(message, targets, ReceiverScope::Known);
        let owners = deliveries.all.iter().map(|delivery| {
            let away = !delivery.subscription.is_present();
            let settled_by = if away { SettledBy::Storage } else { SettledBy::Acknowledgement };
            (delivery.subscription.key(), settled_by)
        });
        let tracked = bus.tracker.open(&message.namespace, owners);
        let template = HeaderTemplate::new(message, bus.tracker.prefix(), Some(""));
        let mut sent = Vec::with_capacity(deliveries.all.len());
        let mut pending_stores = Vec::new();
        for (index, delivery) in deliveries.all.iter().enumerate() {
            let to = deliveries.names(index);
            let mut sent_one = SentDelivery {
                subscription: Arc::clone(&delivery.subscription),
                first: Arc::clone(&to[0]),
                bytes: template.fill(tracked.number(index), to),
            };
            if Instant::now() < deadline {
                if sent_one.subscription.is_present() {
                    bus.counts.sent.one();
                    bus.attempt(&mut sent_one, &tracked, index);
                } else {
                    bus.keep(&sent_one, &tracked, index, &mut pending_stores);
                }
            }
            sent.push(sent_one);
            tokio::task::coop::consume_budget().await;
        }
        bus.retry_until(&mut sent, &tracked, deadline - bus.reserve(deadline)).await;
        bus.keep_rest(&sent, &tracked, &mut pending_stores);
        // Storing may still succeed after the deadline; the delivery then arrives although the
        // sender got no success.
        let _ = tokio::time::timeout_at(deadline, join_all(pending_stores)).await;
        let states = tracked.states();
        let stored = states.iter().filter(|state| **state == DeliveryState::Stored).count();
        bus.counts.stored.add(stored as u64);
        deliveries.outcomes(states, &mut outcomes);
        outcomes
    }
}

impl BusState {
    fn new(coordinator: &str, settings: Settings, counts: Counts, stop: Stop) -> Self {
        Self {
            settings,
            counts,
            tracker: Arc::new(DeliveryTracker::new(coordinator)),
            outbox: None,
            subscriptions: RwLock::default(),
            next_key: AtomicU64::new(1),
            queued: Arc::default(),
            stop,
        }
    }

    fn subscriptions(&self) -> RwLockReadGuard<'_, Subscriptions> {
        self.subscriptions.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn subscriptions_mut(&self) -> RwLockWriteGuard<'_, Subscriptions> {
        self.subscriptions.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn key(&self) -> u64 {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// Accepts acknowledgements of pending and of stored deliveries. `receiver` is the sender's key
    /// in the outbox, if it has one.
    fn acknowledge(
        &self,
        deliveries: &[String],
        from: AckSource<'_>,
        receiver: Option<&str>,
    ) -> usize {
        let stored = |id: &str| {
            self.outbox.as_ref().is_some_and(|outbox| outbox.acknowledge(id, from, receiver))
        };
        // Always both: the delivery may be moving from the tracker to the outbox.
        let known = deliveries.iter().filter(|id| self.tracker.acknowledge(id, from) | stored(id));
        let count = known.count();
        self.counts.acknowledged.add(count as u64);
        self.counts.strayed.add((deliveries.len() - count) as u64);
        count
    }

    /// How long before the deadline unacknowledged deliveries are stored; zero without an outbox.
    fn reserve(&self, deadline: Instant) -> Duration {
        match self.outbox {
            Some(_) => (deadline.saturating_duration_since(Instant::now()) / 4).min(RESERVE),
            None => Duration::ZERO,
        }
    }

    /// Stores a delivery in the background if its receiver has an outbox. Storing completes even if
    /// the multicast has ended: a half-stored delivery would occupy the receiver's space for ever.
    fn keep(
        &self,
        sent_one: &SentDelivery,
        tracked: &MulticastTracker,
        index: usize,
        pending_stores: &mut PendingStores,
    ) {
        let (Some(outbox), Some(stored)) = (&self.outbox, &sent_one.subscription.stored) else {
            // The receiver has just left, so there are no further attempts.
            tracked.put(index, DeliveryState::Refused(FailureReason::SubscriberGone));
            return;
        };
        let outbox = Arc::clone(outbox);
        let sent_one = outbox::NewDelivery {
            key: Arc::clone(stored),
            id: self.tracker.id(tracked.number(index)),
            bytes: sent_one.bytes.clone(),
            delivery_ref: tracked.delivery_ref(index),
            is_sent: tracked.settled_by(index) == SettledBy::Acknowledgement,
        };
        pending_stores.push(tokio::spawn(async move { outbox.keep(sent_one).await }));
    }

    /// Stores sent but unacknowledged deliveries whose receivers have an outbox.
    fn keep_rest(
        &self,
        sent: &[SentDelivery],
        tracked: &MulticastTracker,
        pending_stores: &mut PendingStores,
    ) {
        for (index, sent_one) in sent.iter().enumerate() {
            let sent = tracked.settled_by(index) == SettledBy::Acknowledgement;
            if sent && sent_one.subscription.stored.is_some() && tracked.is_open(index) {
                self.keep(sent_one, tracked, index, pending_stores);
            }
        }
    }

    /// Deliveries to targets with a subscription, and the outcomes of targets without one.
    fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        scope: ReceiverScope,
    ) -> (Deliveries<Subscription>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let mut groups = self.subscriptions().table.group(&message.namespace, targets, scope);
        let state = DeliveryState::Refused(FailureReason::NoSubscriber);
        outcomes.extend(groups.unserved.drain(..).map(|identity| state.outcome(identity)));
        (delivery::cut(groups, message, self.settings.bounds), outcomes)
    }

    fn enqueue(&self, subscription: &Subscription, bytes: Bytes) -> Result<(), FailureReason> {
        let handed = subscription.push(bytes, &self.settings);
        if handed == Err(FailureReason::SlowSubscriber) {
            self.counts.refused.one();
        }
        handed
    }

    /// Sends a delivery again; if the receiver is gone, to its replacement.
    fn attempt(&self, sent_one: &mut SentDelivery, tracked: &MulticastTracker, index: usize) {
        if !sent_one.subscription.is_present()
            && let Some(successor) = self.successor(&sent_one.subscription, &sent_one.first)
        {
            tracked.reassign(index, successor.key());
            sent_one.subscription = successor;
        }
        let failed = self.enqueue(&sent_one.subscription, sent_one.bytes.clone()).err();
        tracked.put(index, DeliveryState::Open(failed));
    }

    fn successor(&self, gone: &Subscription, name: &str) -> Option<Arc<Subscription>> {
        let subscriptions = self.subscriptions();
        let serving = subscriptions.table.serving(&gone.namespace, name, ReceiverScope::Present)?;
        (serving.pattern == gone.pattern).then(|| Arc::clone(serving))
    }

    /// Waits for acknowledgements until the deadline, and sends unacknowledged deliveries again. A
    /// delivery that is still in its queue is not sent again, or it would be queued twice.
    async fn retry_until(
        &self,
        sent: &mut [SentDelivery],
        tracked: &MulticastTracker,
        deadline: Instant,
    ) {
        let mut pause = Backoff::new(self.settings.retry, self.settings.longest_retry);
        while tracked.lacks_after(pause.draw(), deadline).await {
            for (index, sent_one) in sent.iter_mut().enumerate() {
                // Deliveries that are being stored are not also sent.
                let sent = tracked.settled_by(index) == SettledBy::Acknowledgement;
                if sent && tracked.is_open(index) && !sent_one.subscription.is_behind() {
                    self.counts.resent.one();
                    self.attempt(sent_one, tracked, index);
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
            Semantics::AtMostOnce => self.send_once(&message, targets, deadline).await,
            Semantics::AtLeastOnce => self.until_acknowledged(&message, targets, deadline).await,
        }
    }

    async fn forget(&self, namespace: &str, name: &str) {
        let alone = self.state.subscriptions().table.alone(namespace, name);
        for subscription in alone {
            subscription.end(&self.state);
        }
    }

    fn serves(&self, namespace: &str) -> bool {
        self.state.subscriptions().table.has(namespace)
    }

    fn check(&self) -> Result<(), ApiError> {
        Ok(())
    }

    fn effective(&self) -> Value {
        let settings = &self.state.settings;
        json!({
            "kind": "embedded",
            "durable": self.state.outbox.is_some(),
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
