//! Deliveries in progress: their states, and who may acknowledge them.
//!
//! The deliveries of one multicast have consecutive numbers, so they share one entry, and an
//! acknowledgement finds it by number. Deliveries of ended multicasts are removed: late
//! acknowledgements and those for other receivers' deliveries have no effect.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::{Outcome, Status};

/// Why a message was not delivered, in the form for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// The identity has no subscription.
    NoSubscriber,
    /// The subscriber's queue is full.
    SlowSubscriber,
    /// The subscriber disconnected before it acknowledged.
    SubscriberGone,
    /// The bus is unavailable.
    BusAway,
    /// The bus could not store it.
    NotStored,
    /// There is no space to store more messages.
    NoRoom,
    /// Too large for the bus.
    TooLarge,
}

impl FailureReason {
    /// The sentence for an outcome.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoSubscriber => "no subscriber",
            Self::SlowSubscriber => "slow subscriber",
            Self::SubscriberGone => "subscriber gone before it acknowledged",
            Self::BusAway => "the bus is away",
            Self::NotStored => "the bus could not store it",
            Self::NoRoom => "no room to store it",
            Self::TooLarge => "too large for the bus",
        }
    }
}

/// The state of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Pending; the last attempt may have failed.
    Open(Option<FailureReason>),
    /// Accepted by a bus that has a subscriber for it, which is enough.
    Taken,
    /// Acknowledged by the recipient; a final state.
    Acknowledged,
    /// Stored; only an acknowledgement changes it.
    Stored,
    /// Failed for good.
    Refused(FailureReason),
}

impl DeliveryState {
    /// The outcome of each target of a delivery whose final state this is.
    pub fn outcome(self, identity: Arc<str>) -> Outcome {
        let (status, reason) = match self {
            Self::Acknowledged | Self::Taken => (Status::Delivered, None),
            Self::Stored => (Status::Pending, Some("stored until the recipient acknowledges")),
            Self::Open(Some(why)) | Self::Refused(why) => (Status::Failed, Some(why.text())),
            Self::Open(None) => (Status::Timeout, Some("not acknowledged by the deadline")),
        };
        Outcome { identity, status, reason }
    }
}

/// The event that settles a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettledBy {
    /// Storing it: the recipient is absent.
    Storage,
    /// The recipient's acknowledgement.
    Acknowledgement,
}

/// The sender of an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub enum AckSource<'a> {
    /// The subscription with this key, over its own connection.
    Subscription(u64),
    /// A client that may acknowledge for a namespace.
    Namespace(&'a str),
}

#[derive(Debug)]
struct DeliveryEntry {
    owner: u64,
    settled_by: SettledBy,
    state: DeliveryState,
}

impl DeliveryEntry {
    fn is_settled(&self) -> bool {
        match self.state {
            DeliveryState::Open(_) => false,
            DeliveryState::Stored => self.settled_by == SettledBy::Storage,
            DeliveryState::Taken | DeliveryState::Acknowledged | DeliveryState::Refused(_) => true,
        }
    }
}

#[derive(Debug)]
struct DeliveryEntries {
    all: Vec<DeliveryEntry>,
    unsettled: usize,
}

/// The deliveries of one multicast.
#[derive(Debug)]
struct MulticastEntry {
    namespace: Arc<str>,
    first: u64,
    count: usize,
    marks: Mutex<DeliveryEntries>,
    settled: Notify,
}

impl MulticastEntry {
    fn marks(&self) -> MutexGuard<'_, DeliveryEntries> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a delivery's state; `false` if the state is final. A failed attempt does not change
    /// an acknowledged or stored delivery.
    fn put(&self, index: usize, state: DeliveryState) -> bool {
        let mut marks = self.marks();
        let mark = &mut marks.all[index];
        let is_less = match mark.state {
            DeliveryState::Acknowledged => true,
            DeliveryState::Stored => matches!(state, DeliveryState::Open(_)),
            DeliveryState::Open(_) | DeliveryState::Taken | DeliveryState::Refused(_) => false,
        };
        if is_less {
            return false;
        }
        let before = mark.is_settled();
        mark.state = state;
        match (before, mark.is_settled()) {
            (false, true) => marks.unsettled -= 1,
            (true, false) => marks.unsettled += 1,
            _ => {}
        }
        if marks.unsettled == 0 {
            self.settled.notify_one();
        }
        true
    }
}

/// All pending multicasts of one coordinator.
#[derive(Debug)]
pub struct DeliveryTracker {
    prefix: String,
    next: AtomicU64,
    multicasts: Mutex<BTreeMap<u64, Arc<MulticastEntry>>>,
    until_empty: Notify,
}

impl DeliveryTracker {
    /// An empty tracker; the coordinator's name makes the ids of its deliveries unique.
    pub fn new(coordinator: impl std::fmt::Display) -> Self {
        let multicasts = Mutex::new(BTreeMap::new());
        let prefix = format!("{coordinator}-");
        Self { prefix, next: AtomicU64::new(1), multicasts, until_empty: Notify::new() }
    }

    /// Reserves numbers for deliveries that are not tracked; returns the first of them.
    pub fn numbers(&self, count: usize) -> u64 {
        self.next.fetch_add(count as u64, Ordering::Relaxed)
    }

    /// The id of a delivery.
    pub fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    /// The prefix of every id; the delivery's number follows.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Adds the deliveries of a multicast; for each, its owner and the event that settles it.
    pub fn open(
        self: &Arc<Self>,
        namespace: &Arc<str>,
        deliveries: impl IntoIterator<Item = (u64, SettledBy)>,
    ) -> MulticastTracker {
        let mark = |(owner, settled_by)| DeliveryEntry {
            owner,
            settled_by,
            state: DeliveryState::Open(None),
        };
        let all: Vec<DeliveryEntry> = deliveries.into_iter().map(mark).collect();
        let first = self.numbers(all.len());
        let unsettled = all.len();
        let multicast = Arc::new(MulticastEntry {
            namespace: Arc::clone(namespace),
            first,
            count: all.len(),
            marks: Mutex::new(DeliveryEntries { all, unsettled }),
            settled: Notify::new(),
        });
        if unsettled > 0 {
            self.multicasts().insert(first, Arc::clone(&multicast));
        }
        MulticastTracker { tracker: Arc::clone(self), multicast }
    }

    /// Accepts an acknowledgement; `false` if no delivery of this sender is pending under that id.
    pub fn acknowledge(&self, delivery: &str, from: AckSource<'_>) -> bool {
        let Some(number) = self.number(delivery) else { return false };
        let Some((multicast, index)) = self.find(number) else { return false };
        let may = match from {
            AckSource::Subscription(key) => multicast.marks().all[index].owner == key,
            AckSource::Namespace(namespace) => *multicast.namespace == *namespace,
        };
        may && multicast.put(index, DeliveryState::Acknowledged)
    }

    /// Changes a delivery's state by its number, if it is pending and its state allows the change.
    pub fn put(&self, number: u64, state: DeliveryState) -> bool {
        self.find(number).is_some_and(|(multicast, index)| multicast.put(index, state))
    }

    /// The number of pending multicasts.
    pub fn len(&self) -> usize {
        self.multicasts().len()
    }

    /// Whether no multicast is pending.
    pub fn is_empty(&self) -> bool {
        self.multicasts().is_empty()
    }

    /// Resolves once no multicast is pending. Cancel-safe.
    pub async fn until_empty(&self) {
        let mut until_empty = std::pin::pin!(self.until_empty.notified());
        until_empty.as_mut().enable();
        while !self.is_empty() {
            until_empty.as_mut().await;
            until_empty.set(self.until_empty.notified());
            until_empty.as_mut().enable();
        }
    }

    fn number(&self, delivery: &str) -> Option<u64> {
        delivery.strip_prefix(self.prefix.as_str())?.parse().ok()
    }

    fn find(&self, number: u64) -> Option<(Arc<MulticastEntry>, usize)> {
        let multicasts = self.multicasts();
        let (first, multicast) = multicasts.range(..=number).next_back()?;
        let index = usize::try_from(number - first).ok()?;
        (index < multicast.count).then(|| (Arc::clone(multicast), index))
    }

    fn multicasts(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<MulticastEntry>>> {
        self.multicasts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The deliveries of one multicast; when it is dropped, they are no longer pending.
#[derive(Debug)]
pub struct MulticastTracker {
    tracker: Arc<DeliveryTracker>,
    multicast: Arc<MulticastEntry>,
}

impl MulticastTracker {
    /// The number of a delivery, by index.
    pub fn number(&self, index: usize) -> u64 {
        self.multicast.first + index as u64
    }

    /// The state of a delivery.
    pub fn state(&self, index: usize) -> DeliveryState {
        self.multicast.marks().all[index].state
    }

    /// The state of each delivery, in order.
    pub fn states(&self) -> Vec<DeliveryState> {
        self.multicast.marks().all.iter().map(|mark| mark.state).collect()
    }

    /// Whether a delivery is still pending.
    pub fn is_open(&self, index: usize) -> bool {
        matches!(self.state(index), DeliveryState::Open(_))
    }

    /// The event that settles a delivery.
    pub fn settled_by(&self, index: usize) -> SettledBy {
        self.multicast.marks().all[index].settled_by
    }

    /// Changes a delivery's state; `false` if its state no longer allows that.
    pub fn put(&self, index: usize, state: DeliveryState) -> bool {
        self.multicast.put(index, state)
    }

    /// A reference to a delivery, to change its state later.
    pub fn delivery_ref(&self, index: usize) -> DeliveryRef {
        DeliveryRef { multicast: Arc::clone(&self.multicast), index }
    }

    /// Lets another receiver acknowledge it from now on.
    pub fn reassign(&self, index: usize, owner: u64) {
        self.multicast.marks().all[index].owner = owner;
    }

    /// Waits for at most `pause`. Returns `true` if deliveries are still unsettled after that, so
    /// that another attempt is due; `false` if all are settled or the deadline has passed.
    pub async fn lacks_after(&self, pause: Duration, deadline: Instant) -> bool {
        let again = Instant::now() + pause;
        tokio::select! {
            biased;
            () = self.settled() => false,
            () = tokio::time::sleep_until(deadline.min(again)) => again < deadline,
        }
    }

    /// Resolves once every delivery is settled. Cancel-safe.
    pub async fn settled(&self) {
        while self.multicast.marks().unsettled > 0 {
            self.multicast.settled.notified().await;
        }
    }
}

/// One delivery of a multicast.
#[derive(Debug)]
pub struct DeliveryRef {
    multicast: Arc<MulticastEntry>,
    index: usize,
}

impl DeliveryRef {
    /// Changes the delivery's state; `false` if its state no longer allows that.
    pub fn put(&self, state: DeliveryState) -> bool {
        self.multicast.put(self.index, state)
    }
}

impl Drop for MulticastTracker {
    fn drop(&mut self) {
        let mut multicasts = self.tracker.multicasts();
        multicasts.remove(&self.multicast.first);
        if multicasts.is_empty() {
            self.tracker.until_empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
