//! Interim answers of the upstream (1xx) on their way to the client (RFC 9110 15.2).
//!
//! hyper reports those that it reads from the upstream, but its server writes none except `100 Continue`. So they are written by the client's [`Socket`](crate::Socket), between two messages.
//!
//! Not here: `101 Switching Protocols`, which is a final answer to hyper and refused, and clients over HTTP/2, whose
//! server in h2 cannot send them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::counts::Counts;
use crate::heads::{self, Intermediary};
use crate::socket::Handle;
use crate::upload::ContinueWait;

/// An upstream that says neither `100 Continue` nor its answer gets the body after this long.
const EXPECTATION: Duration = Duration::from_secs(1);
/// Interim answers to one request that wait until the client takes them; of more, the first are passed on.
const MOST: usize = 16;

/// The interim answers to one request.
pub(crate) struct Interims {
    /// The client that takes them, if it does.
    client: Option<Handle>,
    /// Whether the next `100 Continue` is the one that hyper says to the client by itself.
    expects: AtomicBool,
    continued: Notify,
    waiting: Mutex<VecDeque<(StatusCode, HeaderMap)>>,
    came: Notify,
    counts: Arc<Counts>,
}

impl Interims {
    pub fn new(client: Option<Handle>, expects: bool, counts: &Arc<Counts>) -> Arc<Self> {
        Arc::new(Self {
            client,
            expects: AtomicBool::new(expects),
            continued: Notify::new(),
            waiting: Mutex::default(),
            came: Notify::new(),
            counts: Arc::clone(counts),
        })
    }

    /// Collects the interim answers to this request.
    pub fn listen<B>(self: &Arc<Self>, request: &mut Request<B>) {
        let own = Arc::clone(self);
        hyper::ext::on_informational(request, move |interim| {
            own.collect(interim.status(), interim.headers())
        });
    }

    fn collect(&self, status: StatusCode, headers: &HeaderMap) {
        if status == StatusCode::CONTINUE && self.expects.swap(false, Ordering::Relaxed) {
            self.continued.notify_one();
        } else if self.client.is_some() {
            let mut waiting = self.waiting();
            if waiting.len() < MOST {
                waiting.push_back((status, headers.clone()));
                self.came.notify_one();
            } else {
                self.counts.interims_dropped.one();
            }
        }
    }

    /// Resolves when the upstream says `100 Continue`, or has been silent for long enough.
    pub fn wait_for_continue(self: &Arc<Self>) -> ContinueWait {
        let own = Arc::clone(self);
        Box::pin(async move {
            let _ = timeout(EXPECTATION, own.continued.notified()).await;
        })
    }

    /// Gives the client those that came, and waits until it has them.
    pub async fn pass_on(&self, intermediary: &Intermediary) {
        let Some(client) = &self.client else { return };
        while let Some((status, headers)) = self.next() {
            client.outbox().send(heads::interim(status, headers, intermediary)).await;
            self.counts.interims.one();
        }
    }

    fn next(&self) -> Option<(StatusCode, HeaderMap)> {
        self.waiting().pop_front()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(StatusCode, HeaderMap)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the next one; none comes where there is no client for them. Cancel-safe.
pub(crate) async fn come(interims: Option<&Arc<Interims>>) -> Option<()> {
    interims?.came.notified().await;
    Some(())
}
