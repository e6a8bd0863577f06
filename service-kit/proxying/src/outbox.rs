//! Where an interim answer's head waits until the client's [`Socket`](crate::Socket) has written it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use hyper::body::Bytes;

/// One head that waits to be written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Whether there is one, readable without the lock.
    is_filled: AtomicBool,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    head: Option<Bytes>,
    is_being_written: bool,
    sender: Option<Waker>,
}

impl Outbox {
    /// Resolves once the head was written. Dropped before that began, the head is not written.
    pub async fn send(&self, head: Bytes) {
        let sending = Sending(self);
        self.slot().head = Some(head);
        self.is_filled.store(true, Ordering::Release);
        poll_fn(|context| {
            let mut slot = self.slot();
            if slot.head.is_none() && !slot.is_being_written {
                return Poll::Ready(());
            }
            slot.sender = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        drop(sending);
    }

    /// What is to be written now.
    pub fn take(&self) -> Option<Bytes> {
        if !self.is_filled.load(Ordering::Acquire) {
            return None;
        }
        let mut slot = self.slot();
        self.is_filled.store(false, Ordering::Relaxed);
        slot.is_being_written = slot.head.is_some();
        slot.head.take()
    }

    /// It was written.
    pub fn sent(&self) {
        let mut slot = self.slot();
        slot.is_being_written = false;
        if let Some(sender) = slot.sender.take() {
            sender.wake();
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the head back if its writing has not begun.
struct Sending<'a>(&'a Outbox);

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.slot().head = None;
    }
}
