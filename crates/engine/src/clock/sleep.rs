//! The wait for an instant, the same on both clocks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::timers::Key;

/// What a clock offers to a waiting task.
pub(super) trait Waits {
    fn now(&self) -> u64;
    fn register(&self, at: u64, waker: Waker) -> Key;
    fn update(&self, key: Key, waker: &Waker) -> bool;
    fn cancel(&self, key: Key);
}

/// Resolves at its instant; dropping it forgets the wait.
pub(super) struct Sleep<'a, W: Waits> {
    clock: &'a W,
    at: u64,
    key: Option<Key>,
}

impl<'a, W: Waits> Sleep<'a, W> {
    pub(super) fn new(clock: &'a W, at: u64) -> Self {
        Self { clock, at, key: None }
    }
}

impl<W: Waits> Future for Sleep<'_, W> {
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

impl<W: Waits> Drop for Sleep<'_, W> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.clock.cancel(key);
        }
    }
}
