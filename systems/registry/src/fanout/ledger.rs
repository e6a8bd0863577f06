//! Deliveries under way: which were acknowledged, stored or refused, and by whom they may be.
//!
//! All deliveries of one multicast have consecutive numbers, so that one entry stands for them
//! and an acknowledgement finds it by its number. What nobody waits for any more is not in here:
//! a late acknowledgement, or one for somebody else's delivery, changes nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::{Outcome, Status};

/// Why a target is not delivered; as clients are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Nobody serves the identity.
    NoSubscriber,
    /// The subscriber's queue is full.
    SlowSubscriber,
    /// The subscriber went away before it acknowledged.
    SubscriberGone,
    /// The bus is away.
    BusAway,
    /// The bus could not store it.
    NotStored,
    /// What is stored takes all the room that it may.
    NoRoom,
    /// Too large for the bus.
    TooLarge,
}

impl Why {
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
pub enum State {
    /// Under way; the last attempt may have failed.
    Open(Option<Why>),
    /// Taken by a bus that has a subscriber for it, which is enough.
    Taken,
    /// The recipient said that it has it. Nothing changes that any more.
    Acknowledged,
    /// Stored until the recipient says so, which is all that changes it.
    Stored,
    /// It will not arrive.
    Refused(Why),
}

impl State {
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

/// What settles a delivery, so that nobody waits for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// That it is stored: the recipient is away.
    Storage,
    /// That the recipient acknowledges.
    Acknowledgement,
}

/// Who acknowledges.
#[derive(Debug, Clone, Copy)]
pub enum Speaker<'a> {
    /// The subscription of this key, over its own connection.
    Subscription(u64),
    /// Somebody who may speak for a namespace.
    Namespace(&'a str),
}

#[derive(Debug)]
struct Mark {
    owner: u64,
    enough: Enough,
    state: State,
}

impl Mark {
    fn is_settled(&self) -> bool {
        match self.state {
            State::Open(_) => false,
            State::Stored => self.enough == Enough::Storage,
            State::Taken | State::Acknowledged | State::Refused(_) => true,
        }
    }
}

#[derive(Debug)]
struct Marks {
    all: Vec<Mark>,
    unsettled: usize,
}

/// The deliveries of one multicast.
#[derive(Debug)]
struct Wave {
    namespace: Arc<str>,
    first: u64,
    count: usize,
    marks: Mutex<Marks>,
    settled: Notify,
}

impl Wave {
    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a delivery's state; `false` if more is known already: what is acknowledged stays so,
    /// and what is stored is stored, whatever becomes of another attempt.
    fn put(&self, index: usize, state: State) -> bool {
        let mut marks = self.marks();
        let mark = &mut marks.all[index];
        let is_less = match mark.state {
            State::Acknowledged => true,
            State::Stored => matches!(state, State::Open(_)),
            State::Open(_) | State::Taken | State::Refused(_) => false,
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
pub struct Ledger {
    prefix: String,
    next: AtomicU64,
    waves: Mutex<BTreeMap<u64, Arc<Wave>>>,
    emptied: Notify,
}

impl Ledger {
    /// An empty ledger; the coordinator's name makes its deliveries' ids unique.
    pub fn new(coordinator: impl std::fmt::Display) -> Self {
        let waves = Mutex::new(BTreeMap::new());
        let prefix = format!("{coordinator}-");
        Self { prefix, next: AtomicU64::new(1), waves, emptied: Notify::new() }
    }

    /// Numbers for so many deliveries of which no account is kept; the first of them.
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
        deliveries: impl IntoIterator<Item = (u64, Enough)>,
    ) -> Account {
        let mark = |(owner, enough)| Mark { owner, enough, state: State::Open(None) };
        let all: Vec<Mark> = deliveries.into_iter().map(mark).collect();
        let first = self.numbers(all.len());
        let unsettled = all.len();
        let wave = Arc::new(Wave {
            namespace: Arc::clone(namespace),
            first,
            count: all.len(),
            marks: Mutex::new(Marks { all, unsettled }),
            settled: Notify::new(),
        });
        if unsettled > 0 {
            self.waves().insert(first, Arc::clone(&wave));
        }
        Account { ledger: Arc::clone(self), wave }
    }

    /// Takes an acknowledgement; `false` if there is no such delivery under way for this sender.
    pub fn acknowledge(&self, delivery: &str, from: Speaker<'_>) -> bool {
        let Some(number) = self.number(delivery) else { return false };
        let Some((wave, index)) = self.find(number) else { return false };
        let may = match from {
            Speaker::Subscription(key) => wave.marks().all[index].owner == key,
            Speaker::Namespace(namespace) => *wave.namespace == *namespace,
        };
        may && wave.put(index, State::Acknowledged)
    }

    /// Changes the state of a delivery by its number, if it is under way and no more is known of it.
    pub fn put(&self, number: u64, state: State) -> bool {
        self.find(number).is_some_and(|(wave, index)| wave.put(index, state))
    }

    /// How many multicasts are under way.
    pub fn len(&self) -> usize {
        self.waves().len()
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.waves().is_empty()
    }

    /// Resolves once nothing is under way. Cancel-safe.
    pub async fn emptied(&self) {
        let mut emptied = std::pin::pin!(self.emptied.notified());
        emptied.as_mut().enable();
        while !self.is_empty() {
            emptied.as_mut().await;
            emptied.set(self.emptied.notified());
            emptied.as_mut().enable();
        }
    }

    fn number(&self, delivery: &str) -> Option<u64> {
        delivery.strip_prefix(self.prefix.as_str())?.parse().ok()
    }

    fn find(&self, number: u64) -> Option<(Arc<Wave>, usize)> {
        let waves = self.waves();
        let (first, wave) = waves.range(..=number).next_back()?;
        let index = usize::try_from(number - first).ok()?;
        (index < wave.count).then(|| (Arc::clone(wave), index))
    }

    fn waves(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Wave>>> {
        self.waves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The account of one multicast; dropped, its deliveries are no longer under way.
#[derive(Debug)]
pub struct Account {
    ledger: Arc<Ledger>,
    wave: Arc<Wave>,
}

impl Account {
    /// The number of a delivery, by its place.
    pub fn number(&self, index: usize) -> u64 {
        self.wave.first + index as u64
    }

    /// What is known of a delivery.
    pub fn state(&self, index: usize) -> State {
        self.wave.marks().all[index].state
    }

    /// What is known of each delivery, in order.
    pub fn states(&self) -> Vec<State> {
        self.wave.marks().all.iter().map(|mark| mark.state).collect()
    }

    /// Whether a delivery is still under way.
    pub fn is_open(&self, index: usize) -> bool {
        matches!(self.state(index), State::Open(_))
    }

    /// What settles a delivery.
    pub fn enough(&self, index: usize) -> Enough {
        self.wave.marks().all[index].enough
    }

    /// Changes a delivery's state; `false` if more is known of it meanwhile.
    pub fn put(&self, index: usize, state: State) -> bool {
        self.wave.put(index, state)
    }

    /// A delivery's place, for whoever learns of it later.
    pub fn place(&self, index: usize) -> Place {
        Place { wave: Arc::clone(&self.wave), index }
    }

    /// From now on somebody else may acknowledge it.
    pub fn pass(&self, index: usize, owner: u64) {
        self.wave.marks().all[index].owner = owner;
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
        while self.wave.marks().unsettled > 0 {
            self.wave.settled.notified().await;
        }
    }
}

/// One delivery of an account.
#[derive(Debug)]
pub struct Place {
    wave: Arc<Wave>,
    index: usize,
}

impl Place {
    /// Changes the delivery's state; `false` if more is known of it meanwhile.
    pub fn put(&self, state: State) -> bool {
        self.wave.put(self.index, state)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut waves = self.ledger.waves();
        waves.remove(&self.wave.first);
        if waves.is_empty() {
            self.ledger.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
