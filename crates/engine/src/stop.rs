//! The wish to stop, from outside (Ctrl-C) or from the conduct of the trial itself.

use std::sync::Arc;

use tokio::sync::watch;

/// A counted wish to stop that threads and tasks can wait for. Clones share it.
///
/// The first request ends planning, and what is in flight may finish; the second gives that up too.
#[derive(Debug, Clone)]
pub struct StopSignal {
    requests: Arc<watch::Sender<u32>>,
}

impl StopSignal {
    /// Nobody wishes to stop.
    pub fn new() -> Self {
        Self { requests: Arc::new(watch::Sender::new(0)) }
    }

    /// Wishes to stop, once more.
    pub fn request(&self) {
        self.requests.send_modify(|requests| *requests += 1);
    }

    /// How often it was wished.
    pub fn requests(&self) -> u32 {
        *self.requests.borrow()
    }

    /// Resolves when it was wished so often. Cancel-safe.
    pub async fn requested(&self, times: u32) {
        let mut receiver = self.requests.subscribe();
        // The sender lives as long as `self`, so that this cannot fail.
        let _ = receiver.wait_for(|&requests| requests >= times).await;
    }
}

impl Default for StopSignal {
    fn default() -> Self {
        Self::new()
    }
}
