//! Every interleaving of the threads over a ring, a sleeper and the slots, as loom finds them.
//!
//! The three files are those of the crate, compiled once more over loom's atomics. Loom tells of a
//! lost wake-up as a deadlock, and of a payload that two threads touch at once as a race.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]
#![expect(unsafe_code, reason = "payloads stand in loom's cells, as in the crate in memory")]

#[path = "../src/ring.rs"]
mod ring;
#[path = "../src/sleep.rs"]
mod sleep;
#[path = "../src/slots.rs"]
mod slots;

mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}

use atomic::AtomicU32;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use ring::{Entry, Look, Message};
use sleep::{Bell, Park};
use slots::Slots;

/// The kernel's promise: looking at the word and lying down is one step, as seen by who wakes.
#[derive(Default)]
struct Futex {
    lock: Mutex<()>,
    sleepers: Condvar,
}

impl Park for Futex {
    fn park(&self, word: &AtomicU32, seen: u32) {
        let guard = self.lock.lock().unwrap();
        if word.load(atomic::Ordering::Relaxed) == seen {
            drop(self.sleepers.wait(guard).unwrap());
        }
    }

    fn unpark(&self, _: &AtomicU32) {
        let _guard = self.lock.lock().unwrap();
        self.sleepers.notify_all();
    }
}

/// What is shared between one client and its worker.
struct Shared {
    submissions: [Entry; 2],
    completions: [Entry; 2],
    client_sleeps: AtomicU32,
    bell: AtomicU32,
    worker_sleeps: AtomicU32,
    client_futex: Futex,
    worker_futex: Futex,
    slots: Slots,
    payload: UnsafeCell<u64>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            submissions: Default::default(),
            completions: Default::default(),
            client_sleeps: AtomicU32::new(0),
            bell: AtomicU32::new(0),
            worker_sleeps: AtomicU32::new(0),
            client_futex: Futex::default(),
            worker_futex: Futex::default(),
            slots: Slots::new(1),
            payload: UnsafeCell::new(0),
        })
    }

    fn bell(&self) -> Bell<'_> {
        Bell { word: &self.bell, asleep: &self.worker_sleeps }
    }

    /// As `Client::submit` does it.
    fn submit(&self, n: u32, message: &Message) {
        ring::put(&self.submissions, n, message);
        self.bell().ring(&self.worker_futex);
    }

    /// As a worker waits for its next submission.
    fn submission(&self, n: u32) -> Message {
        loop {
            match ring::look(&self.submissions, n) {
                Look::Ready(message) => return message,
                Look::Damaged => panic!("a stamp that nobody wrote"),
                Look::NotYet(_) => self.bell().sleep(&self.worker_futex, || {
                    !matches!(ring::look(&self.submissions, n), Look::NotYet(_))
                }),
            }
        }
    }

    /// As a worker completes.
    fn complete(&self, n: u32, message: &Message) {
        ring::put(&self.completions, n, message);
        match sleep::heard(&self.client_sleeps) {
            sleep::AWAKE => {}
            sleep::ON_EVENTFD => panic!("nobody has one here"),
            _ => self.client_futex.unpark(ring::stamp(&self.completions, n)),
        }
    }

    /// As a client waits.
    fn completion(&self, n: u32) -> Message {
        loop {
            if let Look::Ready(message) = ring::look(&self.completions, n) {
                return message;
            }
            sleep::announce(&self.client_sleeps, sleep::ON_FUTEX);
            if let Look::NotYet(seen) = ring::look(&self.completions, n) {
                self.client_futex.park(ring::stamp(&self.completions, n), seen);
            }
            sleep::retract(&self.client_sleeps);
        }
    }
}

fn numbered(number: u64) -> Message {
    Message { sequence: number, length: !number, ..Message::default() }
}

/// Short form: all interleavings with up to three preemptions; `PROOFLOAD_PROOF=1`: four, which
/// takes minutes.
fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    builder.preemption_bound = Some(if is_long { 4 } else { 3 });
    builder.check(check);
}

#[test]
fn a_worker_misses_no_submission() {
    model(|| {
        let shared = Shared::new();
        let client = shared.clone();
        let client = thread::spawn(move || {
            client.submit(0, &numbered(10));
            client.submit(1, &numbered(11));
        });
        assert_eq!(shared.submission(0), numbered(10));
        assert_eq!(shared.submission(1), numbered(11));
        client.join().unwrap();
    });
}

#[test]
fn a_client_misses_no_completion() {
    model(|| {
        let shared = Shared::new();
        let worker = shared.clone();
        let worker = thread::spawn(move || {
            worker.complete(0, &numbered(10));
            worker.complete(1, &numbered(11));
        });
        assert_eq!(shared.completion(0), numbered(10));
        assert_eq!(shared.completion(1), numbered(11));
        worker.join().unwrap();
    });
}

#[test]
fn two_clients_wake_one_worker() {
    model(|| {
        let shared = Shared::new();
        let other = Arc::new(<[Entry; 2]>::default());
        let (one, two, others) = (shared.clone(), shared.clone(), other.clone());
        let one = thread::spawn(move || one.submit(0, &numbered(10)));
        let two = thread::spawn(move || {
            ring::put(&*others, 0, &numbered(20));
            two.bell().ring(&two.worker_futex);
        });
        let is_ready = |ring: &[Entry]| matches!(ring::look(ring, 0), Look::Ready(_));
        let (mut first, mut second) = (false, false);
        while !(first && second) {
            first |= is_ready(&shared.submissions);
            second |= is_ready(&*other);
            if !(first && second) {
                shared.bell().sleep(&shared.worker_futex, || {
                    !first && is_ready(&shared.submissions) || !second && is_ready(&*other)
                });
            }
        }
        one.join().unwrap();
        two.join().unwrap();
    });
}

/// One slot, used twice: the worker's second write comes after the first answer was read, on
/// whatever thread that was, and the ring's entries go round.
#[test]
fn a_slot_is_lent_once_at_a_time() {
    model(|| {
        let shared = Shared::new();
        let worker = shared.clone();
        let worker = thread::spawn(move || {
            for n in 0..2 {
                let message = worker.submission(n);
                // SAFETY: the test is whether loom finds another access at the same time.
                worker.payload.with_mut(|at| unsafe { *at = message.sequence * 100 });
                worker.complete(n, &message);
            }
        });
        for n in 0..2 {
            while shared.slots.take(1).is_none() {
                thread::yield_now();
            }
            shared.submit(n, &numbered(u64::from(n)));
            let completion = shared.completion(n);
            let reader = shared.clone();
            let reader = move || {
                // SAFETY: as above.
                let payload = reader.payload.with(|at| unsafe { *at });
                assert_eq!(payload, completion.sequence * 100);
                reader.slots.give(0, 1);
            };
            // The first answer is dropped by another thread.
            if n == 0 { drop(thread::spawn(reader)) } else { reader() }
        }
        worker.join().unwrap();
        assert_eq!(shared.slots.left(), 1);
    });
}
