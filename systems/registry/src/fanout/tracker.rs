//! Deliveries in progress: their states, and who may acknowledge them.
//!
//! The deliveries of one multicast have consecutive numbers, so that they share one entry and an
//! acknowledgement finds it by its number. Deliveries of ended multicasts are not in here: late
//! acknowledgements and those of other receivers' deliveries change nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::{Outcome, Status};

/// Why a message was not delivered, as clients get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// The identity has no subscription.
    NoSubscriber,
    /// The subscriber's queue is full.
    SlowSubscriber,
    /// The subscriber went away before it acknowledged.
    SubscriberGone,
    /// The bus is away.
    BusAway,
    /// The bus could not store it.
    NotStored,
    /// The space for stored messages is used up.
    NoRoom,
    /// Too large for the bus.
    TooLarge,
}

impl FailureReason {
    /// The sentence that goes into an outcome.
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

/// What is known of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Under way; the last attempt may have failed.
    Open(Option<FailureReason>),
    /// Taken by a bus that has a subscriber for it, which is enough.
    Taken,
    /// The recipient said that it has it. Nothing changes that any more.
    Acknowledged,
    /// Stored until the recipient says so, which is all that changes it.
    Stored,
    /// It will not arrive.
    Refused(FailureReason),
}

impl DeliveryState {
    /// The outcome of each target of a delivery that was left in this state.
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

/// What settles a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettledBy {
    /// That it is stored: the recipient is away.
    Storage,
    /// That the recipient acknowledges.
    Acknowledgement,
}

/// Who acknowledges.
#[derive(Debug, Clone, Copy)]
pub enum AckSource<'a> {
    /// The subscription of this key, over its own connection.
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

    /// Changes a delivery's state; `false` if the state is final. Acknowledged and stored
    /// deliveries stay so if another attempt fails.
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

/// All multicasts under way of one coordinator.
#[derive(Debug)]
pub struct DeliveryTracker {
    prefix: String,
    next: AtomicU64,
    multicasts: Mutex<BTreeMap<u64, Arc<MulticastEntry>>>,
    until_empty: Notify,
}

impl DeliveryTracker {
    /// An empty ledger; the coordinator's name makes its deliveries' ids unique.
    pub fn new(coordinator: impl std::fmt::Display) -> Self {
        let multicasts = Mutex::new(BTreeMap::new());
        let prefix = format!("{coordinator}-");
        Self { prefix, next: AtomicU64::new(1), multicasts, until_empty: Notify::new() }
    }

    /// Numbers for deliveries that are not tracked; the first of them.
    pub fn numbers(&self, count: usize) -> u64 {
        self.next.fetch_add(count as u64, Ordering::Relaxed)
    }

    /// The id of a delivery.
    pub fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    /// What every id begins with; the delivery's number follows.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Opens an account of deliveries, by who may acknowledge each and what is enough.
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

    /// Takes an acknowledgement; `false` if there is no such delivery under way for this sender.
    pub fn acknowledge(&self, delivery: &str, from: AckSource<'_>) -> bool {
        let Some(number) = self.number(delivery) else { return false };
        let Some((multicast, index)) = self.find(number) else { return false };
        let may = match from {
            AckSource::Subscription(key) => multicast.marks().all[index].owner == key,
            AckSource::Namespace(namespace) => *multicast.namespace == *namespace,
        };
        may && multicast.put(index, DeliveryState::Acknowledged)
    }

    /// Changes the state of a delivery by its number, if it is under way and no more is known of it.
    pub fn put(&self, number: u64, state: DeliveryState) -> bool {
        self.find(number).is_some_and(|(multicast, index)| multicast.put(index, state))
    }

    /// How many multicasts are under way.
    pub fn len(&self) -> usize {
        self.multicasts().len()
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.multicasts().is_empty()
    }

    /// Resolves once nothing is under way. Cancel-safe.
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

/// The account of one multicast; dropped, its deliveries are no longer under way.
#[derive(Debug)]
pub struct MulticastTracker {
    tracker: Arc<DeliveryTracker>,
    multicast: Arc<MulticastEntry>,
}

impl MulticastTracker {
    /// The number of a delivery, by its place.
    pub fn number(&self, index: usize) -> u64 {
        self.multicast.first + index as u64
    }

    /// What is known of a delivery.
    pub fn state(&self, index: usize) -> DeliveryState {
        self.multicast.marks().all[index].state
    }

    /// What is known of each delivery, in order.
    pub fn states(&self) -> Vec<DeliveryState> {
        self.multicast.marks().all.iter().map(|mark| mark.state).collect()
    }

    /// Whether a delivery is still under way.
    pub fn is_open(&self, index: usize) -> bool {
        matches!(self.state(index), DeliveryState::Open(_))
    }

    /// What settles a delivery.
    pub fn settled_by(&self, index: usize) -> SettledBy {
        self.multicast.marks().all[index].settled_by
    }

    /// Changes a delivery's state; `false` if more is known of it meanwhile.
    pub fn put(&self, index: usize, state: DeliveryState) -> bool {
        self.multicast.put(index, state)
    }

    /// A reference to a delivery, for completion later.
    pub fn delivery_ref(&self, index: usize) -> DeliveryRef {
        DeliveryRef { multicast: Arc::clone(&self.multicast), index }
    }

    /// Lets another receiver acknowledge it from now on.
    pub fn reassign(&self, index: usize, owner: u64) {
        self.multicast.marks().all[index].owner = owner;
    }

    /// Waits until every delivery is settled or the deadline has come, which ends the waiting, or
    /// for so long, after which it is worth another attempt: then it gives `true`.
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

/// One delivery of an account.
#[derive(Debug)]
pub struct DeliveryRef {
    multicast: Arc<MulticastEntry>,
    index: usize,
}

impl DeliveryRef {
    /// Changes the delivery's state; `false` if more is known of it meanwhile.
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
