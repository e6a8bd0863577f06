//! A subscription on the embedded bus, and the line to its receiver with its bounded queue.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::outbox::file::Known;
use super::{Places, Room, Settings};
use crate::fanout::ledger::{Speaker, Why};
use crate::message::Acknowledgement;
use crate::subscription::{Pattern, Subscriber};

/// Who listens to what; its receiver may change, if it has a name.
#[derive(Debug)]
pub(super) struct Subscription {
    key: u64,
    pub(super) namespace: Arc<str>,
    pub(super) pattern: Pattern,
    pub(super) name: Option<Arc<str>>,
    /// What stands for it in the outbox, if what must arrive is stored for it.
    pub(super) stored: Option<Arc<str>>,
    present: AtomicBool,
    line: Mutex<Option<Line>>,
}

/// The sending end of a queue. Dropped, the receiver gets what is in the queue, and then the end.
#[derive(Debug)]
struct Line {
    frames: mpsc::Sender<Queued>,
    waiting: Arc<Waiting>,
}

/// Bytes that wait in queues.
#[derive(Debug, Default)]
struct Waiting {
    own: AtomicUsize,
    /// In the queues of all connections.
    all: Arc<AtomicUsize>,
}

/// A delivery in a queue; counted as waiting until it is dropped, with its queue at the latest.
#[derive(Debug)]
struct Queued {
    bytes: Bytes,
    waiting: Arc<Waiting>,
}

impl Waiting {
    /// Counts a delivery, if it fits. Where nothing waits one fits always: whoever reads what comes
    /// is not held up by others who do not.
    fn take(self: &Arc<Self>, bytes: Bytes, settings: &Settings) -> Option<Queued> {
        let own = self.own.fetch_add(bytes.len(), Ordering::Relaxed);
        let all = self.all.fetch_add(bytes.len(), Ordering::Relaxed);
        let queued = Queued { waiting: Arc::clone(self), bytes };
        let length = queued.bytes.len();
        let fits = own + length <= settings.queue_bytes && all + length <= settings.all_queue_bytes;
        (own == 0 || fits).then_some(queued)
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.waiting.own.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        self.waiting.all.fetch_sub(self.bytes.len(), Ordering::Relaxed);
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
    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, line: Option<Line>) {
        let mut place = self.line();
        self.present.store(line.is_some(), Ordering::Release);
        *place = line;
    }

    /// Puts a delivery into the receiver's queue.
    ///
    /// Errors: the queue is full, or there is no receiver
    pub(super) fn offer(&self, bytes: Bytes, settings: &Settings) -> Result<(), Why> {
        let line = self.line();
        let line = line.as_ref().ok_or(Why::SubscriberGone)?;
        let queued = line.waiting.take(bytes, settings).ok_or(Why::SlowSubscriber)?;
        line.frames.try_send(queued).map_err(|error| match error {
            TrySendError::Full(_) => Why::SlowSubscriber,
            TrySendError::Closed(_) => Why::SubscriberGone,
        })
    }

    /// Whether its receiver has not yet taken all that is in its queue.
    pub(super) fn is_behind(&self) -> bool {
        self.line().as_ref().is_some_and(|line| line.waiting.own.load(Ordering::Relaxed) > 0)
    }

    /// Ends it: its receiver gets what is in its queue and is told that there is no more; what is
    /// stored for it is dropped.
    pub(super) fn end(&self, room: &Room) {
        let mut places = room.places_mut();
        places.remove(self);
        self.part(room);
        if let (Some(outbox), Some(stored)) = (&room.outbox, &self.stored) {
            outbox.forget(stored);
        }
    }

    /// Its receiver leaves: a subscription of which something is stored keeps its place.
    fn leave(&self, room: &Room) {
        let mut places = room.places_mut();
        if self.stored.is_none() {
            places.remove(self);
        }
        self.part(room);
    }

    fn part(&self, room: &Room) {
        if self.is_present() {
            self.connect(None);
            room.counts.subscriptions.add(-1);
        }
    }

    /// One that the outbox knows, its receiver away.
    pub(super) fn away(room: &Room, known: &Known, pattern: Pattern) -> Arc<Self> {
        Arc::new(Self {
            key: room.key(),
            namespace: known.namespace.as_str().into(),
            pattern,
            name: Some(known.name.as_str().into()),
            stored: Some(known.key()),
            present: AtomicBool::new(false),
            line: Mutex::new(None),
        })
    }
}

impl Places {
    /// Adds a subscription; one of the same name in its namespace makes room.
    pub(super) fn insert(&mut self, subscription: &Arc<Subscription>, room: &Room) {
        if let Some(name) = &subscription.name {
            let place = (Arc::clone(&subscription.namespace), Arc::clone(name));
            if let Some(former) = self.named.insert(place, Arc::clone(subscription)) {
                self.remove(&former);
                former.part(room);
            }
        }
        let own = Arc::clone(subscription);
        self.table.insert(&subscription.namespace, &subscription.pattern, own);
    }

    fn remove(&mut self, subscription: &Subscription) {
        self.table.remove(&subscription.namespace, &subscription.pattern, subscription.key);
        if let Some(name) = &subscription.name {
            let place = (Arc::clone(&subscription.namespace), Arc::clone(name));
            if self.named.get(&place).is_some_and(|there| there.key == subscription.key) {
                self.named.remove(&place);
            }
        }
    }
}

/// A receiver's end: deliveries come out, acknowledgements go in. Dropped, it leaves.
#[derive(Debug)]
pub struct Listener {
    room: Arc<Room>,
    subscription: Arc<Subscription>,
    frames: mpsc::Receiver<Queued>,
}

impl Listener {
    pub(super) fn enter(
        room: &Arc<Room>,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
    ) -> Self {
        let (sender, frames) = mpsc::channel(room.settings.queue_frames.max(1));
        let waiting = Waiting { all: Arc::clone(&room.queued), ..Waiting::default() };
        let line = Line { frames: sender, waiting: Arc::new(waiting) };
        let known = name.map(|name| Known {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            pattern: pattern.to_string(),
        });
        let room_for = |known: &Known| {
            room.outbox.as_ref().is_some_and(|outbox| outbox.has_room(&known.key()))
        };
        let known = known.filter(room_for);
        let subscription = Arc::new(Subscription {
            key: room.key(),
            namespace: namespace.into(),
            pattern,
            name: name.map(Into::into),
            stored: known.as_ref().map(Known::key),
            present: AtomicBool::new(false),
            line: Mutex::new(None),
        });
        subscription.connect(Some(line));
        let mut places = room.places_mut();
        places.insert(&subscription, room);
        if let (Some(outbox), Some(stored), Some(known)) =
            (&room.outbox, &subscription.stored, &known)
        {
            outbox.welcome(stored, known);
        }
        drop(places);
        room.counts.subscriptions.add(1);
        Self { room: Arc::clone(room), subscription, frames }
    }

    /// The next delivery, in the form of [`crate::message`]; `None` when the subscription has ended.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            queued = self.frames.recv() => Some(queued?.bytes.clone()),
            bytes = due(&self.room, &self.subscription) => Some(bytes),
        }
    }

    /// A delivery that is in the queue already.
    pub fn next_now(&mut self) -> Option<Bytes> {
        Some(self.frames.try_recv().ok()?.bytes.clone())
    }

    /// Says that deliveries have arrived; how many of them were under way to this receiver.
    pub fn acknowledge(&self, words: &Acknowledgement) -> usize {
        self.ear().acknowledge(words)
    }

    /// Resolves once the system stops and no multicast waits for acknowledgements any more.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let room = Arc::clone(&self.room);
        async move {
            room.stop.clone().pulled().await;
            room.ledger.emptied().await;
        }
    }

    /// Takes acknowledgements while another part waits for deliveries.
    pub(super) fn ear(&self) -> Ear {
        Ear { room: Arc::clone(&self.room), subscription: Arc::clone(&self.subscription) }
    }
}

/// Hears a receiver's acknowledgements.
#[derive(Debug)]
pub(super) struct Ear {
    room: Arc<Room>,
    subscription: Arc<Subscription>,
}

impl Ear {
    pub(super) fn acknowledge(&self, words: &Acknowledgement) -> usize {
        let from = Speaker::Subscription(self.subscription.key);
        self.room.acknowledge(&words.ack, from, self.subscription.stored.as_deref())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscription.leave(&self.room);
    }
}

/// What waits for a receiver that is there, as it becomes due.
async fn due(room: &Room, subscription: &Subscription) -> Bytes {
    match (&room.outbox, &subscription.stored) {
        (Some(outbox), Some(stored)) if subscription.is_present() => outbox.due(stored).await,
        _ => std::future::pending().await,
    }
}
