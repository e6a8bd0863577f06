//! Time-outs without a timer for each operation.
//!
//! All time-outs of a worker have one length, so a lane that begins something is always the last
//! to time out. One entry a busy lane is enough: when it comes due, it is renewed for what the lane
//! does by then, or dropped. So a lane costs the clock one wait in each time-out's length.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use tokio::sync::Notify;

use super::seat::Seat;
use crate::clock::Clock;

/// Watches the deadlines of a worker's lanes.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    entries: RefCell<BinaryHeap<Reverse<(u64, usize)>>>,
    seats: RefCell<Vec<Rc<Seat>>>,
    first: Notify,
}

impl Watchdog {
    /// Takes a new lane into its care; the number is the lane's.
    pub(super) fn adopt(&self, seat: Rc<Seat>) -> usize {
        let mut seats = self.seats.borrow_mut();
        seats.push(seat);
        seats.len() - 1
    }

    /// Wakes every lane, to look at the state of the worker.
    pub(super) fn wake_all(&self) {
        for seat in self.seats.borrow().iter() {
            seat.wake();
        }
    }

    /// Sees to it that the lane is told when its deadline passes.
    ///
    /// Cost: nothing when the lane has an entry already; no allocation once every lane had one
    pub(super) fn watch(&self, lane: usize, seat: &Seat, deadline: u64) {
        seat.give_up_at(deadline);
        if seat.watched.replace(true) {
            return;
        }
        let mut entries = self.entries.borrow_mut();
        // An earlier entry is renewed before a later deadline can pass; only the first needs a call.
        if entries.is_empty() {
            self.first.notify_one();
        }
        entries.push(Reverse((deadline, lane)));
    }

    /// Runs for ever.
    pub(super) async fn run<C: Clock>(&self, clock: &C) {
        loop {
            match self.earliest() {
                Some(at) => {
                    clock.sleep_until(at).await;
                    self.bark(clock.now());
                }
                None => self.first.notified().await,
            }
        }
    }

    fn earliest(&self) -> Option<u64> {
        self.entries.borrow().peek().map(|Reverse((at, _))| *at)
    }

    fn bark(&self, now: u64) {
        let seats = self.seats.borrow();
        let mut entries = self.entries.borrow_mut();
        while let Some(&Reverse((at, lane))) = entries.peek()
            && at <= now
        {
            entries.pop();
            let seat = &seats[lane];
            match seat.deadline() {
                u64::MAX => seat.watched.set(false),
                deadline if deadline <= now => {
                    seat.watched.set(false);
                    seat.expire();
                }
                deadline => entries.push(Reverse((deadline, lane))),
            }
        }
    }
}
