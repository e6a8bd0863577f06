//! One peer as threads and its carrier share it: the lanes, who waits for whom, and how far it has come.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::account::{Account, Why};
use super::frame::{BESIDE, Cast, Frame};
use super::lane::{Bounds, Lane, Offer};
use super::settings::Settings;
use super::window::Chunk;

/// What a peer's carrier has reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Casts that the other side has.
    pub taken: u64,
    /// The last account that it has.
    pub confirmed: Account,
    /// Connections that were opened.
    pub connections: u64,
    /// Why the last one ended, or none could be had.
    pub trouble: Option<String>,
}

/// A peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Under which it knows this caster; another one at each peer.
    pub caster: u64,
    lanes: Box<[Lane]>,
    bounds: Bounds,
    is_connected: AtomicBool,
    is_ending: AtomicBool,
    /// Something waits in a lane that was empty, or the end is wanted.
    wake: Notify,
    /// There is room again, or it need not be waited for.
    room: Notify,
    moved: Notify,
    progress: Mutex<Progress>,
}

impl Peer {
    pub fn new(caster: u64, settings: &Settings) -> Self {
        let lanes = settings.lanes();
        let bounds = Bounds {
            bytes: settings.room_bytes / lanes,
            messages: (settings.room_messages / lanes).max(1),
            payload: settings.longest_frame.saturating_sub(BESIDE),
        };
        Self {
            caster,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            bounds,
            is_connected: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            wake: Notify::new(),
            room: Notify::new(),
            moved: Notify::new(),
            progress: Mutex::default(),
        }
    }

    /// Casts, or drops and counts.
    pub fn cast(&self, lane: usize, sent_at: u64, payload: &[u8]) {
        let full = if self.is_connected() { Why::Full } else { Why::Disconnected };
        self.offer(lane, sent_at, payload, Some(full));
    }

    /// Casts; while a connection is open, waits for room, and returns how long it waited.
    pub async fn cast_waiting(&self, lane: usize, sent_at: u64, payload: &[u8]) -> Duration {
        let mut since = None;
        loop {
            // Heard from before the look at what it would tell of.
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            // Whoever is not there might be waited for without end.
            let full = (!self.is_connected()).then_some(Why::Disconnected);
            if self.offer(lane, sent_at, payload, full) != Offer::NoRoom {
                return since.map_or(Duration::ZERO, |since: Instant| since.elapsed());
            }
            // The clock is read by those alone who wait.
            since.get_or_insert_with(Instant::now);
            room.await;
        }
    }

    fn offer(&self, lane: usize, sent_at: u64, payload: &[u8], full: Option<Why>) -> Offer {
        let lane = lane % self.lanes.len();
        let cast = Cast { lane: lane as u8, caster: self.caster, sequence: 0, sent_at, payload };
        let offer = self.lanes[lane].offer(cast, &self.bounds, full);
        // Drops for want of room are reported with what waits already; all others wake the carrier.
        if let Offer::Taken { was_empty: true } | Offer::Dropped(Why::Oversize) = offer {
            self.wake.notify_one();
        }
        offer
    }

    /// Puts what waits, and the account of it, into a chunk; `None` if there is nothing to tell, unless it is to be told
    /// again. `spare` is an empty buffer that stays one.
    pub fn gather(&self, mut bytes: Vec<u8>, spare: &mut Vec<u8>, again: bool) -> Gathered {
        let (mut casts, mut account) = (0, Account::default());
        for lane in &self.lanes {
            casts += lane.take(spare, &mut account) as u64;
            bytes.extend_from_slice(spare);
            spare.clear();
        }
        if casts == 0 && !again {
            return Gathered::Nothing(bytes, account);
        }
        self.room.notify_waiters();
        Frame::Account(self.caster, account).write(&mut bytes);
        Gathered::Chunk(Chunk { bytes, casts, account })
    }

    /// All that was cast.
    pub fn account(&self) -> Account {
        let mut all = Account::default();
        self.lanes.iter().for_each(|lane| all.add(&lane.account()));
        all
    }

    /// Drops what comes from now on, and lets the carrier end once it has reported everything.
    pub fn end(&self) {
        self.lanes.iter().for_each(Lane::close);
        self.is_ending.store(true, Ordering::Release);
        self.wake.notify_one();
        self.room.notify_waiters();
    }

    /// Counts as dropped what was neither taken nor dropped; the carrier must have ended.
    pub fn give_up(&self) {
        let account = self.account();
        let pending = account.cast - account.all_dropped() - self.progress().taken;
        self.discount(Why::Unsent, pending);
    }

    /// Counts as dropped what had been taken out of the lanes.
    pub fn discount(&self, why: Why, messages: u64) {
        self.lanes[0].discount(why, messages);
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// For the carrier: something new waits, or the end is wanted.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// For the carrier: a connection is open.
    pub fn connected(&self) {
        self.is_connected.store(true, Ordering::Release);
        self.lock().connections += 1;
        self.moved.notify_waiters();
    }

    /// For the carrier: there is no connection, for this reason.
    pub fn disconnected(&self, trouble: String) {
        self.is_connected.store(false, Ordering::Release);
        self.lock().trouble = Some(trouble);
        self.room.notify_waiters();
        self.moved.notify_waiters();
    }

    /// For the carrier: the other side has this many casts, and this account.
    pub fn confirm(&self, taken: u64, confirmed: Account) {
        {
            let mut progress = self.lock();
            (progress.taken, progress.confirmed) = (taken, confirmed);
        }
        self.moved.notify_waiters();
    }

    pub fn progress(&self) -> Progress {
        self.lock().clone()
    }

    /// Resolves once a connection is open.
    pub async fn until_connected(&self) {
        self.until(|| self.is_connected()).await;
    }

    /// Resolves once the other side has everything, and the account of it.
    pub async fn settled(&self) {
        self.until(|| self.progress().confirmed == self.account()).await;
    }

    async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            let mut moved = pin!(self.moved.notified());
            moved.as_mut().enable();
            if holds() {
                return;
            }
            moved.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was in the lanes.
#[derive(Debug)]
pub(super) enum Gathered {
    /// Something to write.
    Chunk(Chunk),
    /// The buffer back, and the account of all so far.
    Nothing(Vec<u8>, Account),
}
