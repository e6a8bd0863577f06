//! Sleeping without missing a message that comes meanwhile, and waking only a sleeper.
//!
//! A sleeper writes a word of its own, looks once more, and sleeps; a sender puts its message
//! first, then reads that word, and makes a system call only if it has to. A
//! fence on both sides between the two steps means that at least one sees the other.

use super::atomic::{AtomicU32, Ordering, fence};

/// The other side is awake.
pub(crate) const AWAKE: u32 = 0;
/// Someone sleeps on a futex, or is about to.
pub(crate) const ON_FUTEX: u32 = 1;
/// Someone waits for an eventfd to be readable.
pub(crate) const ON_EVENTFD: u32 = 2;

/// Sleeping on a word: the kernel's futex, or a model of it.
pub(crate) trait Park {
    /// Sleeps if the word is `seen`, until woken or for no reason.
    fn park(&self, word: &AtomicU32, seen: u32);
    /// Wakes who sleeps on the word.
    fn unpark(&self, word: &AtomicU32);
}

/// Says how one is going to sleep. After that, look once more.
pub(crate) fn announce(said: &AtomicU32, how: u32) {
    said.store(how, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Says that one is awake.
pub(crate) fn retract(said: &AtomicU32) {
    said.store(AWAKE, Ordering::Relaxed);
}

/// Reads how the other side sleeps. Before that, bring what it sleeps for.
pub(crate) fn heard(said: &AtomicU32) -> u32 {
    fence(Ordering::SeqCst);
    said.load(Ordering::Relaxed)
}

/// One sleeper that many can wake: a word that they count up, and one where it says that it sleeps.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a> {
    pub word: &'a AtomicU32,
    pub asleep: &'a AtomicU32,
}

impl Bell<'_> {
    /// Wakes the sleeper if there is one. Before that, bring what it sleeps for.
    pub(crate) fn ring(self, park: &impl Park) {
        if heard(self.asleep) != AWAKE {
            self.word.fetch_add(1, Ordering::Release);
            park.unpark(self.word);
        }
    }

    /// Sleeps until the bell rings, unless `is_ready`.
    pub(crate) fn sleep(self, park: &impl Park, is_ready: impl FnOnce() -> bool) {
        // Before anything is looked at: a ring after the look makes the word another one.
        let seen = self.word.load(Ordering::Acquire);
        announce(self.asleep, ON_FUTEX);
        if !is_ready() {
            park.park(self.word, seen);
        }
        retract(self.asleep);
    }
}
