//! The wish to stop, from outside (Ctrl-C) or from the conduct of the trial itself; and the wish to end the
//! measure phase because enough is known, which stops nothing else.

use std::sync::Arc;

use record::EarlyEnd;
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

/// The wish of whoever conducts a run that a trial's measure phase ends now. Clones share it.
///
/// What is in flight is waited for as at the planned end, and the trial is not an interrupted one.
#[derive(Debug, Clone)]
pub struct EndSignal {
    wish: Arc<watch::Sender<Option<EarlyEnd>>>,
}

impl EndSignal {
    /// Nobody wishes it to end.
    pub fn new() -> Self {
        Self { wish: Arc::new(watch::Sender::new(None)) }
    }

    /// Wishes it to end; the first reason counts.
    pub fn request(&self, why: EarlyEnd) {
        self.wish.send_if_modified(|wish| {
            let first = wish.is_none();
            if first {
                *wish = Some(why);
            }
            first
        });
    }

    /// Why it is to end, if it is.
    pub fn reason(&self) -> Option<EarlyEnd> {
        self.wish.borrow().clone()
    }

    /// Whether it is to end.
    pub fn is_requested(&self) -> bool {
        self.wish.borrow().is_some()
    }

    /// Resolves with the reason when it is to end. Cancel-safe.
    pub(crate) async fn requested(&self) -> EarlyEnd {
        let mut receiver = self.wish.subscribe();
        let wish = receiver.wait_for(Option::is_some).await;
        let wish = wish.expect("the sender lives as long as `self`");
        wish.clone().expect("it was waited for")
    }
}

impl Default for EndSignal {
    fn default() -> Self {
        Self::new()
    }
}
