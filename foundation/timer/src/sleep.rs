//! The wait for an instant, the same on every clock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::queue::Key;

/// What a clock offers to a waiting task. Instants are nanoseconds.
pub trait Waits {
    /// The present instant.
    fn now(&self) -> u64;

    /// Registers a task for an instant.
    fn register(&self, at: u64, waker: Waker) -> Key;

    /// Wakes this task instead; `false` if the wait is over.
    fn update(&self, key: Key, waker: &Waker) -> bool;

    /// Forgets a wait; nothing happens if it is over.
    fn cancel(&self, key: Key);
}

impl<W: Waits> Waits for &W {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn register(&self, at: u64, waker: Waker) -> Key {
        (**self).register(at, waker)
    }

    fn update(&self, key: Key, waker: &Waker) -> bool {
        (**self).update(key, waker)
    }

    fn cancel(&self, key: Key) {
        (**self).cancel(key);
    }
}

/// Resolves at its instant, never before, at once if that is past. Dropping it forgets the wait.
#[derive(Debug)]
pub struct Sleep<W: Waits> {
    clock: W,
    at: u64,
    key: Option<Key>,
}

impl<W: Waits> Sleep<W> {
    /// A wait on this clock, which may be a reference.
    pub fn new(clock: W, at: u64) -> Self {
        Self { clock, at, key: None }
    }

    /// Waits for another instant from now on.
    pub fn reset(&mut self, at: u64) {
        self.forget();
        self.at = at;
    }

    fn forget(&mut self) {
        if let Some(key) = self.key.take() {
            self.clock.cancel(key);
        }
    }
}

impl<W: Waits + Unpin> Future for Sleep<W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        let registered = self.key.is_some_and(|key| self.clock.update(key, context.waker()));
        if !registered {
            self.key = Some(self.clock.register(self.at, context.waker().clone()));
        }
        Poll::Pending
    }
}

impl<W: Waits> Drop for Sleep<W> {
    fn drop(&mut self) {
        self.forget();
    }
}
