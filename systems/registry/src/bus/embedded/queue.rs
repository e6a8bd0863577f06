//! A subscription on the embedded bus, and the bounded queue to its receiver.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::outbox::file::Known;
use super::{BusState, Settings, Subscriptions};
use crate::fanout::tracker::{AckSource, FailureReason};
use crate::message::Acknowledgement;
use crate::subscription::{Pattern, Subscriber};

/// A subscription; its receiver may change if it has a name.
#[derive(Debug)]
pub(super) struct Subscription {
    key: u64,
    pub(super) namespace: Arc<str>,
    pub(super) pattern: Pattern,
    pub(super) name: Option<Arc<str>>,
    /// Its key in the outbox, if deliveries are stored for it.
    pub(super) stored: Option<Arc<str>>,
    present: AtomicBool,
    queue: Mutex<Option<QueueSender>>,
}

/// The sending end of a queue. After it is dropped, the receiver gets the queued deliveries and
/// then the end.
#[derive(Debug)]
struct QueueSender {
    frames: mpsc::Sender<QueuedDelivery>,
    queue_use: Arc<QueueUse>,
}

/// Bytes that wait in queues.
#[derive(Debug, Default)]
struct QueueUse {
    own: AtomicUsize,
    /// In the queues of all connections.
    all: Arc<AtomicUsize>,
}

/// A delivery in a queue; counted until it is dropped, at the latest with its queue.
#[derive(Debug)]
struct QueuedDelivery {
    bytes: Bytes,
    queue_use: Arc<QueueUse>,
}

impl QueueUse {
    /// Reserves bytes for a delivery, if it fits. An empty queue always accepts one, so that slow
    /// receivers cannot block a fast one.
    fn reserve(self: &Arc<Self>, bytes: Bytes, settings: &Settings) -> Option<QueuedDelivery> {
        let own = self.own.fetch_add(bytes.len(), Ordering::Relaxed);
        let all = self.all.fetch_add(bytes.len(), Ordering::Relaxed);
        let queued = QueuedDelivery { queue_use: Arc::clone(self), bytes };
        let length = queued.bytes.len();
        let fits = own + length <= settings.queue_bytes && all + length <= settings.all_queue_bytes;
        (own == 0 || fits).then_some(queued)
    }
}

impl Drop for QueuedDelivery {
    fn drop(&mut self) {
        self.queue_use.own.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        self.queue_use.all.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

impl Subscriber for Subscription {
    fn key(&self) -> u64 {
        self.key
    }

    fn is_present(&self) -> bool {
        self.present.load(Ordering::Acquire)
    }
}

impl Subscription {
    fn queue(&self) -> MutexGuard<'_, Option<QueueSender>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, queue: Option<QueueSender>) {
        let mut current = self.queue();
        self.present.store(queue.is_some(), Ordering::Release);
        *current = queue;
    }

    /// Puts a delivery into the receiver's queue.
    ///
    /// Errors: the queue is full, or there is no receiver
    pub(super) fn push(&self, bytes: Bytes, settings: &Settings) -> Result<(), FailureReason> {
        let queue = self.queue();
        let queue = queue.as_ref().ok_or(FailureReason::SubscriberGone)?;
        let queued =
            queue.queue_use.reserve(bytes, settings).ok_or(FailureReason::SlowSubscriber)?;
        queue.frames.try_send(queued).map_err(|error| match error {
            TrySendError::Full(_) => FailureReason::SlowSubscriber,
            TrySendError::Closed(_) => FailureReason::SubscriberGone,
        })
    }

    /// Whether its queue is not empty.
    pub(super) fn is_behind(&self) -> bool {
        self.queue().as_ref().is_some_and(|queue| queue.queue_use.own.load(Ordering::Relaxed) > 0)
    }

    /// Ends it: the receiver gets the queued deliveries and then the end; stored deliveries are
    /// dropped.
    pub(super) fn end(&self, state: &BusState) {
        let mut subscriptions = state.subscriptions_mut();
        subscriptions.remove(self);
        self.part(state);
        if let (Some(outbox), Some(stored)) = (&state.outbox, &self.stored) {
            outbox.forget(stored);
        }
    }

    /// Disconnects the receiver; a subscription with an outbox remains.
    fn disconnect(&self, state: &BusState) {
        let mut subscriptions = state.subscriptions_mut();
        if self.stored.is_none() {
            subscriptions.remove(self);
        }
        self.part(state);
    }

    fn part(&self, state: &BusState) {
        if self.is_present() {
            self.connect(None);
            state.counts.subscriptions.add(-1);
        }
    }

    /// A subscription from the outbox whose receiver is absent.
    pub(super) fn away(state: &BusState, known: &Known, pattern: Pattern) -> Arc<Self> {
        Arc::new(Self {
            key: state.key(),
            namespace: known.namespace.as_str().into(),
            pattern,
            name: Some(known.name.as_str().into()),
            stored: Some(known.key()),
            present: AtomicBool::new(false),
            queue: Mutex::new(None),
        })
    }
}

impl Subscriptions {
    /// Adds a subscription; it replaces the one with the same name in its namespace.
    pub(super) fn insert(&mut self, subscription: &Arc<Subscription>, state: &BusState) {
        if let Some(name) = &subscription.name {
            let key = (Arc::clone(&subscription.namespace), Arc::clone(name));
            if let Some(former) = self.named.insert(key, Arc::clone(subscription)) {
                self.remove(&former);
                former.part(state);
            }
        }
        let own = Arc::clone(subscription);
        self.table.insert(&subscription.namespace, &subscription.pattern, own);
    }

    fn remove(&mut self, subscription: &Subscription) {
        self.table.remove(&subscription.namespace, &subscription.pattern, subscription.key);
        if let Some(name) = &subscription.name {
            let key = (Arc::clone(&subscription.namespace), Arc::clone(name));
            if self.named.get(&key).is_some_and(|there| there.key == subscription.key) {
                self.named.remove(&key);
            }
        }
    }
}

/// A receiver's end: yields deliveries, accepts acknowledgements. Dropping it disconnects the
/// receiver.
#[derive(Debug)]
pub struct Listener {
    state: Arc<BusState>,
    subscription: Arc<Subscription>,
    frames: mpsc::Receiver<QueuedDelivery>,
}

impl Listener {
    pub(super) fn subscribe_as(
        state: &Arc<BusState>,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
    ) -> Self {
        let (sender, frames) = mpsc::channel(state.settings.queue_frames.max(1));
        let queue_use = QueueUse { all: Arc::clone(&state.queued), ..QueueUse::default() };
        let queue = QueueSender { frames: sender, queue_use: Arc::new(queue_use) };
        let known = name.map(|name| Known {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            pattern: pattern.to_string(),
        });
        let room_for = |known: &Known| {
            state.outbox.as_ref().is_some_and(|outbox| outbox.has_room(&known.key()))
        };
        let known = known.filter(room_for);
        let subscription = Arc::new(Subscription {
            key: state.key(),
            namespace: namespace.into(),
            pattern,
            name: name.map(Into::into),
            stored: known.as_ref().map(Known::key),
            present: AtomicBool::new(false),
            queue: Mutex::new(None),
        });
        subscription.connect(Some(queue));
        let mut subscriptions = state.subscriptions_mut();
        subscriptions.insert(&subscription, state);
        if let (Some(outbox), Some(stored), Some(known)) =
            (&state.outbox, &subscription.stored, &known)
        {
            outbox.welcome(stored, known);
        }
        drop(subscriptions);
        state.counts.subscriptions.add(1);
        Self { state: Arc::clone(state), subscription, frames }
    }

    /// The next delivery, in the format of [`crate::message`]; `None` when the subscription has
    /// ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            queued = self.frames.recv() => Some(queued?.bytes.clone()),
            bytes = due(&self.state, &self.subscription) => Some(bytes),
        }
    }

    /// A delivery that is already in the queue.
    pub fn next_now(&mut self) -> Option<Bytes> {
        Some(self.frames.try_recv().ok()?.bytes.clone())
    }

    /// Acknowledges deliveries; returns how many of them were pending for this receiver.
    pub fn acknowledge(&self, words: &Acknowledgement) -> usize {
        self.ack_reader().acknowledge(words)
    }

    /// Resolves once the system stops and no multicast waits for acknowledgements.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let state = Arc::clone(&self.state);
        async move {
            state.stop.clone().pulled().await;
            state.tracker.until_empty().await;
        }
    }

    /// Accepts acknowledgements while another task waits for deliveries.
    pub(super) fn ack_reader(&self) -> AckReader {
        AckReader { state: Arc::clone(&self.state), subscription: Arc::clone(&self.subscription) }
    }
}

/// Accepts a receiver's acknowledgements.
#[derive(Debug)]
pub(super) struct AckReader {
    state: Arc<BusState>,
    subscription: Arc<Subscription>,
}

impl AckReader {
    pub(super) fn acknowledge(&self, words: &Acknowledgement) -> usize {
        let from = AckSource::Subscription(self.subscription.key);
        self.state.acknowledge(&words.ack, from, self.subscription.stored.as_deref())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscription.disconnect(&self.state);
    }
}

/// Stored deliveries of a connected receiver, as they become due.
async fn due(state: &BusState, subscription: &Subscription) -> Bytes {
    match (&state.outbox, &subscription.stored) {
        (Some(outbox), Some(stored)) if subscription.is_present() => outbox.due(stored).await,
        _ => std::future::pending().await,
    }
}
