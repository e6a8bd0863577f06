//! The side of a lane that other tasks reach: its mailbox, its deadline, its waker.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use super::job::Job;

/// What a lane's task shares with the rest of its worker.
#[derive(Debug)]
pub(super) struct Seat {
    mailbox: Cell<Option<Job>>,
    waker: RefCell<Option<Waker>>,
    deadline: Cell<u64>,
    expired: Cell<bool>,
    /// Whether the watchdog has an entry for it.
    pub(super) watched: Cell<bool>,
}

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            mailbox: Cell::new(None),
            waker: RefCell::new(None),
            deadline: Cell::new(u64::MAX),
            expired: Cell::new(false),
            watched: Cell::new(false),
        }
    }

    /// Hands an operation to the lane.
    pub(super) fn assign(&self, job: Job) {
        self.mailbox.set(Some(job));
        self.wake();
    }

    /// What was handed over, once.
    pub(super) fn take(&self) -> Option<Job> {
        self.mailbox.take()
    }

    /// Polls the lane again, whatever it waits for.
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Remembers whom to wake. A task keeps its waker, so this is a comparison and no more.
    pub(super) fn remember(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            None => *waker = Some(context.waker().clone()),
        }
    }

    /// Sets the instant at which the lane gives up what it does.
    pub(super) fn give_up_at(&self, deadline: u64) {
        self.deadline.set(deadline);
        self.expired.set(false);
    }

    /// Nothing is under way.
    pub(super) fn rest(&self) {
        self.deadline.set(u64::MAX);
    }

    /// The instant at which the lane gives up, `u64::MAX` when nothing is under way.
    pub(super) fn deadline(&self) -> u64 {
        self.deadline.get()
    }

    /// Tells the lane that its time is over.
    pub(super) fn expire(&self) {
        self.expired.set(true);
        self.wake();
    }

    /// Whether the time for what is under way is over.
    pub(super) fn expired(&self) -> bool {
        self.expired.get()
    }
}
