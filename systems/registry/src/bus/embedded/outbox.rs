//! Deliveries for named receivers: stored before the sender gets an answer, and sent until they are acknowledged, also
//! after a restart.
//!
//! The file ([`mod@file`]) contains the deliveries; memory contains only their list and when each is due. A receiver's
//! task asks for due deliveries one by one, so nothing piles up in between.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fanout::backoff::Backoff;
use crate::fanout::tracker::{AckSource, DeliveryRef, DeliveryState, FailureReason};

pub(super) mod file;

use file::{Known, Open, OutboxFile};

/// Limits on receivers and stored deliveries, and the pauses before deliveries are sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutboxLimits {
    pub(super) receivers: usize,
    pub(super) deliveries: usize,
    pub(super) bytes: usize,
    /// Bytes for all receivers together.
    pub(super) all_bytes: usize,
    /// Also the pause before the file is opened again after a failure.
    pub(super) retry: Duration,
    pub(super) longest_retry: Duration,
}

/// A delivery to be stored.
#[derive(Debug)]
pub(super) struct NewDelivery {
    /// The key of its receiver.
    pub(super) key: Arc<str>,
    pub(super) id: String,
    pub(super) bytes: Bytes,
    /// Its reference in the tracker.
    pub(super) delivery_ref: DeliveryRef,
    /// Whether it was already sent, so that it is not due at once.
    pub(super) is_sent: bool,
}

/// The stored deliveries of named receivers.
#[derive(Debug)]
pub(super) struct Outbox {
    file: OutboxFile,
    bounds: OutboxLimits,
    next: AtomicU64,
    waiting: Mutex<Backlogs>,
}

#[derive(Debug, Default)]
struct Backlogs {
    backlogs: HashMap<Arc<str>, Backlog>,
    /// Receiver and sequence of each delivery, by its id.
    ids: HashMap<Arc<str>, (Arc<str>, u64)>,
    /// Bytes of all deliveries, including those that are being stored.
    taken: usize,
}

/// The stored deliveries of one receiver.
#[derive(Debug)]
struct Backlog {
    namespace: String,
    /// The first sequence number that may belong to it. Earlier numbers were for a receiver with the same name that
    /// was forgotten meanwhile.
    since: u64,
    entries: HashMap<u64, Entry>,
    due: BTreeSet<(Instant, u64)>,
    /// Number and bytes of deliveries, including those that are being stored.
    taken: (usize, usize),
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct Entry {
    id: Arc<str>,
    length: usize,
    due: Instant,
    pause: Backoff,
}

/// The next delivery for a receiver.
enum NextDue {
    Due(Bytes),
    /// None yet; wait for a change, or until this instant.
    Later(Arc<Notify>, Option<Instant>),
    Gone,
}

impl Backlog {
    fn new(namespace: &str, since: u64) -> Self {
        Self {
            namespace: namespace.to_owned(),
            since,
            entries: HashMap::new(),
            due: BTreeSet::new(),
            taken: (0, 0),
            changed: Arc::default(),
        }
    }

    fn put(&mut self, sequence: u64, entry: Entry) {
        self.due.insert((entry.due, sequence));
        self.entries.insert(sequence, entry);
        self.changed.notify_one();
    }

    fn remove(&mut self, sequence: u64) -> Option<Entry> {
        let entry = self.entries.remove(&sequence)?;
        self.due.remove(&(entry.due, sequence));
        self.release(entry.length);
        Some(entry)
    }

    fn release(&mut self, length: usize) {
        self.taken = (self.taken.0 - 1, self.taken.1 - length);
    }

    /// The first due delivery; it becomes due again after its next pause.
    fn take_due(&mut self, now: Instant) -> Option<u64> {
        let (due, sequence) = *self.due.first()?;
        if due > now {
            return None;
        }
        self.due.pop_first();
        let entry = self.entries.get_mut(&sequence).expect("what is due is there");
        entry.due = now + entry.pause.draw();
        self.due.insert((entry.due, sequence));
        Some(sequence)
    }
}

impl Outbox {
    /// Opens the file; returns the receivers in it.
    ///
    /// Errors: it cannot be opened or read
    pub(super) fn open(
        open: Open,
        bounds: OutboxLimits,
    ) -> Result<(Self, Vec<Known>), redb::Error> {
        let (file, contents) = OutboxFile::open(open, bounds.retry)?;
        let mut waiting = Backlogs::default();
        for known in &contents.receivers {
            waiting.backlogs.insert(known.key(), Backlog::new(&known.namespace, 0));
        }
        let mut next = 0;
        for (key, sequence, id, length) in contents.deliveries {
            next = next.max(sequence + 1);
            let Some((key, _)) = waiting.backlogs.get_key_value(&key) else { continue };
            let (key, id) = (Arc::clone(key), Arc::<str>::from(id));
            waiting.ids.insert(Arc::clone(&id), (Arc::clone(&key), sequence));
            let backlog = waiting.backlogs.get_mut(&key).expect("it was there just now");
            backlog.taken = (backlog.taken.0 + 1, backlog.taken.1 + length);
            waiting.taken += length;
            let pause = Backoff::new(bounds.retry, bounds.longest_retry);
            backlog.put(sequence, Entry { id, length, due: Instant::now(), pause });
        }
        let outbox = Self { file, bounds, next: next.into(), waiting: Mutex::new(waiting) };
        Ok((outbox, contents.receivers))
    }

    /// Whether this receiver is known, or may be added.
    pub(super) fn has_room(&self, key: &Arc<str>) -> bool {
        let backlogs = &self.waiting().backlogs;
        backlogs.contains_key(key) || backlogs.len() < self.bounds.receivers
    }

    /// A receiver connects: everything stored for it becomes due.
    pub(super) fn welcome(&self, key: &Arc<str>, known: &Known) {
        self.file.remember(key, known);
        let mut waiting = self.waiting();
        let fresh = || Backlog::new(&known.namespace, self.next.load(Ordering::Relaxed));
        let backlog = waiting.backlogs.entry(Arc::clone(key)).or_insert_with(fresh);
        let now = Instant::now();
        backlog.due = backlog.entries.keys().map(|sequence| (now, *sequence)).collect();
        for entry in backlog.entries.values_mut() {
            entry.due = now;
            entry.pause = Backoff::new(self.bounds.retry, self.bounds.longest_retry);
        }
    }

    /// Removes a receiver and everything stored for it.
    pub(super) fn forget(&self, key: &Arc<str>) {
        let mut waiting = self.waiting();
        if let Some(backlog) = waiting.backlogs.remove(key) {
            waiting.taken -= backlog.taken.1;
            for entry in backlog.entries.values() {
                waiting.ids.remove(&entry.id);
            }
            self.file.forget(key);
        }
    }

    /// Stores a pending delivery; when this resolves, the tracker knows the result.
    pub(super) async fn keep(&self, sent_one: NewDelivery) {
        let NewDelivery { key, id, bytes, delivery_ref, is_sent } = sent_one;
        let length = bytes.len();
        // A delivery that was sent may still be acknowledged or time out; one that was not sent has failed, and there
        // are no further attempts.
        let fail = |why| {
            if !is_sent {
                delivery_ref.put(DeliveryState::Refused(why));
            }
        };
        let Some(sequence) = self.reserve(&key, length) else {
            return fail(FailureReason::NoRoom);
        };
        let stored = self.file.store(&key, sequence, bytes).await;
        let mut waiting = self.waiting();
        let Backlogs { backlogs, ids, taken } = &mut *waiting;
        let Some(backlog) = backlogs.get_mut(&key).filter(|backlog| backlog.since <= sequence)
        else {
            self.file.remove(&key, sequence);
            return fail(FailureReason::NoSubscriber);
        };
        if stored && delivery_ref.put(DeliveryState::Stored) {
            let id: Arc<str> = id.into();
            ids.insert(Arc::clone(&id), (key, sequence));
            let mut pause = Backoff::new(self.bounds.retry, self.bounds.longest_retry);
            let wait = if is_sent { pause.draw() } else { Duration::ZERO };
            let due = Instant::now() + wait;
            backlog.put(sequence, Entry { id, length, due, pause });
        } else {
            // It was acknowledged while it was being stored, or could not be stored.
            backlog.release(length);
            *taken -= length;
            if stored {
                self.file.remove(&key, sequence);
            } else {
                fail(FailureReason::NotStored);
            }
        }
    }

    /// Reserves space for a delivery and returns its sequence number; `None` if full.
    fn reserve(&self, key: &Arc<str>, length: usize) -> Option<u64> {
        let waiting = &mut *self.waiting();
        let all = waiting.taken + length;
        let backlog = waiting.backlogs.get_mut(key)?;
        let own = (backlog.taken.0 + 1, backlog.taken.1 + length);
        let fits = own.0 <= self.bounds.deliveries && own.1 <= self.bounds.bytes;
        (fits && all <= self.bounds.all_bytes).then(|| {
            backlog.taken = own;
            waiting.taken = all;
            self.next.fetch_add(1, Ordering::Relaxed)
        })
    }

    /// Accepts an acknowledgement of a stored delivery; returns whether the sender may acknowledge it.
    pub(super) fn acknowledge(
        &self,
        id: &str,
        from: AckSource<'_>,
        receiver: Option<&str>,
    ) -> bool {
        let mut waiting = self.waiting();
        let Backlogs { backlogs, ids, taken } = &mut *waiting;
        let Some((key, sequence)) = ids.get(id) else { return false };
        let Some(backlog) = backlogs.get_mut(key) else { return false };
        let may = match from {
            AckSource::Subscription(_) => receiver == Some(&**key),
            AckSource::Namespace(namespace) => backlog.namespace == namespace,
        };
        if may {
            *taken -= backlog.remove(*sequence).map_or(0, |entry| entry.length);
            self.file.remove(key, *sequence);
            ids.remove(id);
        }
        may
    }

    /// Waits for the next due delivery of a receiver. Cancel-safe.
    pub(super) async fn due(&self, key: &Arc<str>) -> Bytes {
        loop {
            let (changed, next) = match self.next_due(key) {
                NextDue::Due(bytes) => return bytes,
                NextDue::Later(changed, next) => (changed, next),
                NextDue::Gone => return std::future::pending().await,
            };
            let asleep = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed.notified() => {}
                () = asleep => {}
            }
        }
    }

    fn next_due(&self, key: &Arc<str>) -> NextDue {
        let mut waiting = self.waiting();
        let Some(backlog) = waiting.backlogs.get_mut(key) else { return NextDue::Gone };
        while let Some(sequence) = backlog.take_due(Instant::now()) {
            // A delivery that cannot be read now is due again later.
            if let Some(bytes) = self.file.read(key, sequence) {
                return NextDue::Due(bytes);
            }
        }
        let next = backlog.due.first().map(|(due, _)| *due);
        NextDue::Later(Arc::clone(&backlog.changed), next)
    }

    fn waiting(&self) -> MutexGuard<'_, Backlogs> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
