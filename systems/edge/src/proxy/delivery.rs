//! An answer as it is given to a client: over HTTP/2 in pieces, and without a body to `HEAD`.
//!
//! hyper does the latter over HTTP/1.1 alone. A body that is there as a whole would be with the connection as soon as
//! there is room for its first byte, and it would go unnoticed that its client does not take it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::CONTENT_LENGTH;

use super::outgoing::Outgoing;
use super::streams::Progress;

/// Bytes of a piece: those of a frame.
const PIECE: usize = 16 << 10;

/// An answer's body, and what lasts as long as it.
#[derive(Debug)]
pub(super) struct Delivery<C> {
    body: Outgoing,
    /// Of what the body gave last.
    left: Bytes,
    /// That of its stream, if it has one.
    progress: Option<Arc<Progress>>,
    /// Whether nothing of it is sent.
    is_silent: bool,
    _call: C,
}

impl<C> Delivery<C> {
    /// The answer with its body as it is given, and what lasts as long; to be called where the request is answered.
    pub fn of(answer: Response<Outgoing>, is_head: bool, call: C) -> Response<Self> {
        let progress = Progress::here();
        let is_silent = is_head && progress.is_some();
        let (mut head, body) = answer.into_parts();
        if is_silent
            && !body.is_end_stream()
            && let Some(length) = body.size_hint().exact()
        {
            head.headers.entry(CONTENT_LENGTH).or_insert(length.into());
        }
        let given = Self { body, left: Bytes::new(), progress, is_silent, _call: call };
        Response::from_parts(head, given)
    }
}

impl<C: Unpin> Body for Delivery<C> {
    type Data = Bytes;
    type Error = <Outgoing as Body>::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let it = self.get_mut();
        let Some(progress) = &it.progress else {
            return Pin::new(&mut it.body).poll_frame(context);
        };
        progress.is_asked();
        if it.left.is_empty() {
            let frame = ready!(Pin::new(&mut it.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => it.left = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        progress.hand_out();
        let piece = it.left.split_to(it.left.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_silent || self.left.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
