//! How other tasks reach a slot: its mailbox, its deadline, its waker.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use super::due_operation::DueOperation;

/// The state that a slot's task shares with the rest of its worker.
#[derive(Debug)]
pub(super) struct SlotHandle {
    mailbox: Cell<Option<DueOperation>>,
    waker: RefCell<Option<Waker>>,
    deadline: Cell<u64>,
    expired: Cell<bool>,
    /// Whether the watchdog has an entry for it.
    pub(super) watched: Cell<bool>,
}

impl SlotHandle {
    pub(super) fn new() -> Self {
        Self {
            mailbox: Cell::new(None),
            waker: RefCell::new(None),
            deadline: Cell::new(u64::MAX),
            expired: Cell::new(false),
            watched: Cell::new(false),
        }
    }

    /// Hands an operation to the slot.
    pub(super) fn assign(&self, due: DueOperation) {
        self.mailbox.set(Some(due));
        self.wake();
    }

    /// Takes the operation that was handed over, if there is one.
    pub(super) fn take(&self) -> Option<DueOperation> {
        self.mailbox.take()
    }

    /// Wakes the slot's task.
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Stores the waker of the slot's task. A task keeps the same waker, so this usually only
    /// compares.
    pub(super) fn remember(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            None => *waker = Some(context.waker().clone()),
        }
    }

    /// Sets the deadline of the operation in flight.
    pub(super) fn set_deadline(&self, deadline: u64) {
        self.deadline.set(deadline);
        self.expired.set(false);
    }

    /// Clears the deadline: no operation is in flight.
    pub(super) fn clear_deadline(&self) {
        self.deadline.set(u64::MAX);
    }

    /// The deadline, `u64::MAX` if no operation is in flight.
    pub(super) fn deadline(&self) -> u64 {
        self.deadline.get()
    }

    /// Marks the deadline as passed and wakes the slot.
    pub(super) fn expire(&self) {
        self.expired.set(true);
        self.wake();
    }

    /// Whether the deadline has passed.
    pub(super) fn expired(&self) -> bool {
        self.expired.get()
    }
}
