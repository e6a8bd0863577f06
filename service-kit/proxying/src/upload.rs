//! A request's body on its way to the upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::counts::Counts;
use crate::failure::Failure;

/// What goes wrong with a body, in hyper's words.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// Resolves when the body may be begun.
pub(crate) type ContinueWait = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// A body that is there, if it is not empty, or one that comes piece by piece.
pub(crate) enum Upload<B> {
    Whole(Option<Bytes>),
    Stream(Box<Stream<B>>),
}

/// A body that comes.
pub(crate) struct Stream<B> {
    /// What was taken of it already.
    pub begun: Option<Bytes>,
    pub body: B,
    pub wait: Option<ContinueWait>,
    pub progress: Arc<Progress>,
    pub counts: Arc<Counts>,
    /// Among those that may come at a time.
    pub _place: OwnedSemaphorePermit,
}

/// How far an upload is, to tell which side delays it.
#[derive(Debug)]
pub(crate) struct Progress {
    begun: Instant,
    moved_us: AtomicU64,
    waits_for_client: AtomicBool,
    is_broken: AtomicBool,
}

impl Progress {
    pub fn new(begun: Instant) -> Self {
        Self {
            begun,
            moved_us: AtomicU64::new(0),
            waits_for_client: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
        }
    }

    /// When it last moved.
    pub fn moved_at(&self) -> Instant {
        self.begun + Duration::from_micros(self.moved_us.load(Ordering::Relaxed))
    }

    /// Whether the client is to send more of it.
    pub fn waits_for_client(&self) -> bool {
        self.waits_for_client.load(Ordering::Relaxed)
    }

    /// Whether the client broke it off.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    fn moved(&self) {
        let since = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.moved_us.store(since, Ordering::Relaxed);
        self.waits_for_client.store(false, Ordering::Relaxed);
    }
}

impl<B> Upload<B> {
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    pub fn progress(&self) -> Option<Arc<Progress>> {
        match self {
            Self::Whole(_) => None,
            Self::Stream(stream) => Some(Arc::clone(&stream.progress)),
        }
    }
}

/// Takes a body's beginning, so many bytes or a piece more; all of it if it ends by then.
pub(crate) async fn gather<B>(
    body: &mut B,
    most: usize,
    counts: &Counts,
) -> Result<Option<Bytes>, Failure>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut begun: Option<Bytes> = None;
    while !body.is_end_stream() && begun.as_ref().map_or(0, Bytes::len) < most {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame.map(|frame| frame.map(Frame::into_data)) {
            None => break,
            Some(Err(_)) => return Err(Failure::BodyBroken),
            Some(Ok(Err(_))) => counts.trailers_dropped.one(),
            Some(Ok(Ok(piece))) => {
                begun = Some(match begun {
                    None => piece,
                    Some(before) => [before, piece].concat().into(),
                });
            }
        }
    }
    let begun = begun.filter(|bytes| !bytes.is_empty());
    counts.bytes_up.add(begun.as_ref().map_or(0, Bytes::len) as u64);
    Ok(begun)
}

impl<B> Body for Upload<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Stream(stream) => stream.begun.is_none() && stream.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
}

impl<B> Stream<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    fn size_hint(&self) -> SizeHint {
        let (begun, rest) =
            (self.begun.as_ref().map_or(0, Bytes::len) as u64, self.body.size_hint());
        let mut all = SizeHint::new();
        all.set_lower(begun + rest.lower());
        if let Some(upper) = rest.upper() {
            all.set_upper(begun + upper);
        }
        all
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
            self.progress.moved();
        }
        if let Some(begun) = self.begun.take() {
            self.progress.moved();
            return Poll::Ready(Some(Ok(Frame::data(begun))));
        }
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                self.progress.waits_for_client.store(true, Ordering::Relaxed);
                return Poll::Pending;
            };
            self.progress.moved();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                None => return Poll::Ready(None),
                Some(Ok(Ok(piece))) => {
                    self.counts.bytes_up.add(piece.len() as u64);
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                Some(Ok(Err(_))) => self.counts.trailers_dropped.one(),
                Some(Err(_)) => {
                    self.progress.is_broken.store(true, Ordering::Relaxed);
                    return Poll::Ready(Some(Err("the client broke it off".into())));
                }
            }
        }
    }
}
