//! Signals that end a trial: a request to stop, from the user or from the trial itself, and a request to end the
//! measure phase early.

use std::sync::Arc;

use record::EarlyEnd;
use tokio::sync::watch;

/// A counted request to stop that threads and tasks can wait for. Clones share it.
///
/// The first request ends planning, and operations in flight may finish; the second abandons them.
#[derive(Debug, Clone)]
pub struct StopSignal {
    requests: Arc<watch::Sender<u32>>,
}

impl StopSignal {
    /// No request yet.
    pub fn new() -> Self {
        Self { requests: Arc::new(watch::Sender::new(0)) }
    }

    /// Requests to stop, once more.
    pub fn request(&self) {
        self.requests.send_modify(|requests| *requests += 1);
    }

    /// Number of requests.
    pub fn requests(&self) -> u32 {
        *self.requests.borrow()
    }

    /// Resolves after this many requests. Cancel-safe.
    pub async fn requested(&self, times: u32) {
        let mut receiver = self.requests.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = receiver.wait_for(|&requests| requests >= times).await;
    }
}

impl Default for StopSignal {
    fn default() -> Self {
        Self::new()
    }
}

/// A request to end the measure phase of a trial now. Clones share it.
///
/// Operations in flight are awaited as at the planned end, and the trial does not count as interrupted.
#[derive(Debug, Clone)]
pub struct EndSignal {
    reason: Arc<watch::Sender<Option<EarlyEnd>>>,
}

impl EndSignal {
    /// No request yet.
    pub fn new() -> Self {
        Self { reason: Arc::new(watch::Sender::new(None)) }
    }

    /// Requests the end; the first reason counts.
    pub fn request(&self, why: EarlyEnd) {
        self.reason.send_if_modified(|reason| {
            let first = reason.is_none();
            if first {
                *reason = Some(why);
            }
            first
        });
    }

    /// The reason, if the end was requested.
    pub fn reason(&self) -> Option<EarlyEnd> {
        self.reason.borrow().clone()
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.reason.borrow().is_some()
    }

    /// Resolves with the reason when the end is requested. Cancel-safe.
    pub(crate) async fn requested(&self) -> EarlyEnd {
        let mut receiver = self.reason.subscribe();
        let reason = receiver.wait_for(Option::is_some).await;
        let reason = reason.expect("the sender lives as long as `self`");
        reason.clone().expect("it was waited for")
    }
}

impl Default for EndSignal {
    fn default() -> Self {
        Self::new()
    }
}
