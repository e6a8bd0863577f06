//! An answer's body on its way to the client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep_until};

use crate::counts::Counts;
use crate::failure::Failure;
use crate::pool::Lease;

/// An answer's body: bytes of the proxy or its caller, or the upstream's body as it comes.
///
/// An error means that the upstream's body broke off; hyper then breaks the connection to the client, too.
pub struct Answer<B: Send + 'static = Incoming>(Kind<B>);

enum Kind<B: Send + 'static> {
    Whole(Option<Bytes>),
    Relay(Box<Relay<B>>),
}

/// The upstream's, and the connection on which it comes.
pub(crate) struct Relay<B: Send + 'static> {
    body: Incoming,
    /// Gone once the answer has ended, well or not.
    lease: Option<Lease<B>>,
    /// The whole must have ended then.
    deadline: Instant,
    /// There from when the end is waited for.
    watch: Option<Watch>,
    counts: Arc<Counts>,
}

impl<B: Send + 'static> Answer<B> {
    /// A body whose bytes are known.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty())))
    }

    /// The answer for a failure, as text; `Retry-After: 1` where another try makes sense.
    pub fn of_failure(failure: &Failure) -> Response<Self> {
        let mut answer = Response::new(Self::whole(format!("{failure}\n")));
        *answer.status_mut() = failure.status();
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, text);
        if failure.status() == StatusCode::SERVICE_UNAVAILABLE {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }

    pub(crate) fn relay(
        body: Incoming,
        lease: Lease<B>,
        deadline: Instant,
        counts: Arc<Counts>,
    ) -> Self {
        let mut relay = Relay { body, lease: Some(lease), deadline, watch: None, counts };
        relay.look_for_end();
        Self(Kind::Relay(Box::new(relay)))
    }
}

impl<B: Send + 'static> fmt::Debug for Answer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

impl<B: Send + 'static> Relay<B> {
    /// hyper asks no further once the announced length is reached.
    fn look_for_end(&mut self) {
        if self.body.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.watch = None;
            self.counts.completed.one();
            lease.end();
        }
    }

    fn break_off<T>(&mut self, why: impl Into<Error>) -> Poll<Option<Result<T, Error>>> {
        self.lease = None;
        self.counts.broken_off.one();
        Poll::Ready(Some(Err(why.into())))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => {
                    self.watch();
                    return Poll::Pending;
                }
                // What was cut short looks like an end to hyper.
                Poll::Ready(None) if self.watch.as_ref().is_some_and(Watch::has_cut) => {
                    return self.break_off("the exchange took too long");
                }
                Poll::Ready(None) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Err(error))) => return self.break_off(error),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => {
                        self.counts.bytes_down.add(piece.len() as u64);
                        self.look_for_end();
                        self.watch();
                        return Poll::Ready(Some(Ok(Frame::data(piece))));
                    }
                    Err(_) => self.counts.trailers_dropped.one(),
                },
            }
        }
    }

    /// Watches the deadline from the side: a client that does not read keeps hyper from asking here.
    fn watch(&mut self) {
        if let (None, Some(lease)) = (&self.watch, &self.lease) {
            self.watch = Some(Watch::begin(self.deadline, lease.connection.closer()));
        }
    }
}

/// Cuts the connection when the deadline has passed; gone with the answer.
struct Watch {
    has_cut: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Watch {
    fn begin(deadline: Instant, connection: AbortHandle) -> Self {
        let has_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&has_cut);
        let task = tokio::spawn(async move {
            sleep_until(deadline).await;
            cut.store(true, Ordering::Release);
            connection.abort();
        });
        Self { has_cut, task }
    }

    fn has_cut(&self) -> bool {
        self.has_cut.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<B: Send + 'static> Drop for Relay<B> {
    fn drop(&mut self) {
        if self.lease.is_some() {
            self.counts.cancelled.one();
        }
    }
}

/// Why a body broke off.
type Error = Box<dyn std::error::Error + Send + Sync>;

impl<B: Send + 'static> Body for Answer<B> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Relay(relay) => relay.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::Relay(relay) => relay.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Relay(relay) => relay.body.size_hint(),
        }
    }
}
