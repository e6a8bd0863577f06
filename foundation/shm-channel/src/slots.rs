//! Which slots are free: private memory of the client, so that the death of either side leaks none.
//!
//! One thread takes; any thread gives back. The lowest free run is taken, so that a client that has
//! one request under way uses the same memory again and again and touches no other.

use super::atomic::{AtomicBool, Ordering};

/// A mark for each slot.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Vec<AtomicBool>,
}

impl Slots {
    /// All free.
    pub(crate) fn new(count: u32) -> Self {
        Self { free: (0..count).map(|_| AtomicBool::new(true)).collect() }
    }

    /// Takes `count` neighbouring slots; the first of them, or `None` where no such run is free.
    ///
    /// Only one thread may take.
    pub(crate) fn take(&self, count: u32) -> Option<u32> {
        let mut length = 0;
        for (slot, free) in self.free.iter().enumerate() {
            // What the one before did with the slot comes before what we do with it.
            length = if free.load(Ordering::Acquire) { length + 1 } else { 0 };
            if length == count {
                let first = slot as u32 + 1 - count;
                self.mark(first, count, false);
                return Some(first);
            }
        }
        None
    }

    /// Gives a run back.
    pub(crate) fn give(&self, first: u32, count: u32) {
        self.mark(first, count, true);
    }

    fn mark(&self, first: u32, count: u32, is_free: bool) {
        for free in &self.free[first as usize..][..count as usize] {
            free.store(is_free, Ordering::Release);
        }
    }

    /// How many are free.
    pub(crate) fn left(&self) -> usize {
        self.free.iter().filter(|free| free.load(Ordering::Relaxed)).count()
    }
}
