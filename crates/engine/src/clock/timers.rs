//! The heap of instants that tasks wait for, shared by both clocks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

/// Heap slack before cancelled entries are swept out.
const SWEEP_ABOVE: usize = 64;

/// Wakers by instant; equal instants in the order of registration.
///
/// A cancelled entry stays in the heap until it is met or swept: that keeps cancelling cheap, and
/// nothing is allocated once the vectors have grown to the number of waiting tasks.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
    places: Vec<Place>,
    free: Vec<usize>,
    registered: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    number: u64,
    place: usize,
}

#[derive(Debug)]
struct Place {
    number: u64,
    waker: Option<Waker>,
}

/// A registered wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    number: u64,
    place: usize,
}

impl Timers {
    /// Registers a task for an instant.
    pub(super) fn insert(&mut self, at: u64, waker: Waker) -> Key {
        let number = self.registered;
        self.registered += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { number, waker: None });
            self.places.len() - 1
        });
        self.places[place] = Place { number, waker: Some(waker) };
        self.heap.push(Reverse(Entry { at, number, place }));
        Key { number, place }
    }

    /// Wakes this task instead, if the wait is still registered.
    pub(super) fn update(&mut self, key: Key, waker: &Waker) -> bool {
        match self.waker_of(key.place, key.number) {
            Some(current) => {
                current.clone_from(waker);
                true
            }
            None => false,
        }
    }

    /// Forgets a wait; nothing happens if it is over.
    pub(super) fn cancel(&mut self, key: Key) -> Option<Waker> {
        let waker = self.take(key.place, key.number);
        if waker.is_some() && self.heap.len() > 2 * self.waiting() + SWEEP_ABOVE {
            let places = &self.places;
            self.heap.retain(|Reverse(entry)| places[entry.place].holds(entry.number));
        }
        waker
    }

    /// The earliest instant that a task waits for.
    pub(super) fn earliest(&mut self) -> Option<u64> {
        while let Some(&Reverse(entry)) = self.heap.peek() {
            if self.places[entry.place].holds(entry.number) {
                return Some(entry.at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the next task whose instant has come.
    pub(super) fn pop_due(&mut self, now: u64) -> Option<Waker> {
        if self.earliest()? > now {
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        self.take(entry.place, entry.number)
    }

    fn waiting(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn waker_of(&mut self, place: usize, number: u64) -> Option<&mut Waker> {
        let place = &mut self.places[place];
        if place.number == number { place.waker.as_mut() } else { None }
    }

    fn take(&mut self, place: usize, number: u64) -> Option<Waker> {
        if !self.places[place].holds(number) {
            return None;
        }
        self.free.push(place);
        self.places[place].waker.take()
    }
}

impl Place {
    fn holds(&self, number: u64) -> bool {
        self.number == number && self.waker.is_some()
    }
}
