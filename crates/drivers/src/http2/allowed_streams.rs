//! How many streams peers allow on a connection, where that is too few for the load.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::connection::ConnectionHandle;

/// The fewest streams at a time that a peer allowed where that was too few, over all workers.
#[derive(Debug)]
pub struct AllowedStreams(AtomicUsize);

impl Default for AllowedStreams {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl AllowedStreams {
    /// Notes what the peer of this connection allows, once an answer came.
    pub fn look_at(&self, handle: &mut ConnectionHandle) {
        if let Some(allowed) = handle.too_few_allowed() {
            self.0.fetch_min(allowed, Ordering::Relaxed);
        }
    }

    /// What to say of it at the end.
    pub fn note(&self) -> Option<String> {
        let allowed = self.0.load(Ordering::Relaxed);
        (allowed < usize::MAX).then(|| {
            format!(
                "the target allows {allowed} streams at a time on a connection, fewer than the load has: further \
                 requests waited in the connection, which is part of their service time"
            )
        })
    }
}
