//! Time-outs without a timer for each operation.
//!
//! All time-outs of a worker have the same length, so the slot that began last is always the last
//! to time out. One entry per busy slot is enough: when it comes due, it is renewed for the slot's
//! current operation, or dropped. So a slot costs one wait per time-out length.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use tokio::sync::Notify;

use super::slot_handle::SlotHandle;
use crate::clock::Clock;

/// Watches the deadlines of a worker's slots.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    entries: RefCell<BinaryHeap<Reverse<(u64, usize)>>>,
    handles: RefCell<Vec<Rc<SlotHandle>>>,
    first: Notify,
}

impl Watchdog {
    /// Registers a new slot and returns its number.
    pub(super) fn register(&self, handle: Rc<SlotHandle>) -> usize {
        let mut handles = self.handles.borrow_mut();
        handles.push(handle);
        handles.len() - 1
    }

    /// Wakes every slot, to look at the state of the worker.
    pub(super) fn wake_all(&self) {
        for handle in self.handles.borrow().iter() {
            handle.wake();
        }
    }

    /// Sets the deadline of a slot; the slot is woken when it passes.
    ///
    /// Cost: nothing if the slot already has an entry; no allocation once every slot has had one
    pub(super) fn watch(&self, slot: usize, handle: &SlotHandle, deadline: u64) {
        handle.set_deadline(deadline);
        if handle.watched.replace(true) {
            return;
        }
        let mut entries = self.entries.borrow_mut();
        // An earlier entry is renewed before a later deadline can pass, so only the first entry
        // needs to wake the watchdog.
        if entries.is_empty() {
            self.first.notify_one();
        }
        entries.push(Reverse((deadline, slot)));
    }

    /// Runs for ever.
    pub(super) async fn run<C: Clock>(&self, clock: &C) {
        loop {
            match self.earliest() {
                Some(at) => {
                    clock.sleep_until(at).await;
                    self.expire_due(clock.now());
                }
                None => self.first.notified().await,
            }
        }
    }

    fn earliest(&self) -> Option<u64> {
        self.entries.borrow().peek().map(|Reverse((at, _))| *at)
    }

    fn expire_due(&self, now: u64) {
        let handles = self.handles.borrow();
        let mut entries = self.entries.borrow_mut();
        while let Some(&Reverse((at, slot))) = entries.peek()
            && at <= now
        {
            entries.pop();
            let handle = &handles[slot];
            match handle.deadline() {
                u64::MAX => handle.watched.set(false),
                deadline if deadline <= now => {
                    handle.watched.set(false);
                    handle.expire();
                }
                deadline => entries.push(Reverse((deadline, slot))),
            }
        }
    }
}
