//! An answer in shared memory, lent by the producer.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use shm_channel::Answer;
use tokio::sync::Notify;

/// An answer in shared memory, which is the producer's again when this is dropped.
pub(crate) struct LentAnswer {
    pub(super) answer: Answer,
    // After the answer: fields are dropped in their order.
    pub(super) _freed: SpaceNotifier,
}

/// Notifies requests that wait for space.
pub(super) struct SpaceNotifier(pub(super) Arc<Notify>);

impl Drop for SpaceNotifier {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl Deref for LentAnswer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.answer
    }
}

impl fmt::Debug for LentAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answer.fmt(formatter)
    }
}
