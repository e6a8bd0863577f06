//! Bodies of answers, and how some of them end.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use timer::{Sleep, Timer, monotonic};

use super::timeline::End;

/// Pieces that a second of a held back body is cut into, if they have a byte each.
const PIECES_PER_SECOND: u64 = 100;

/// What a connection is to do once all that was said on it is sent; over HTTP/2, what a stream is.
#[derive(Debug, Clone)]
pub enum Fate {
    /// One a connection.
    Connection(Rc<Cell<Option<End>>>),
    /// A stream is reset, and the others of its connection go on.
    Stream,
}

impl Fate {
    /// The fate of a new connection.
    pub fn of_connection() -> Self {
        Self::Connection(Rc::default())
    }

    /// Decides on it.
    ///
    /// Errors: the end of a stream, which is one at once
    pub fn seal(&self, end: End) -> io::Result<()> {
        match self {
            Self::Connection(sealed) => sealed.set(Some(end)),
            Self::Stream if end == End::Hang => {}
            Self::Stream => return Err(io::ErrorKind::ConnectionReset.into()),
        }
        Ok(())
    }

    /// What was decided of a connection.
    pub fn sealed(&self) -> Option<End> {
        match self {
            Self::Connection(sealed) => sealed.get(),
            Self::Stream => None,
        }
    }
}

/// The body of an answer: all at once, held back, or not all of it.
#[derive(Debug)]
pub struct Served {
    left: Bytes,
    /// The length in the head, also if less is sent.
    length: u64,
    pace: Option<Pace>,
    /// What comes after the bytes that are left, if that is no end of an answer.
    end: Option<(End, Fate)>,
}

#[derive(Debug)]
struct Pace {
    bytes_per_second: u64,
    begun_ns: u64,
    sent: u64,
    sleep: Sleep<Timer>,
}

impl Served {
    /// All of it as fast as it goes.
    pub fn whole(bytes: Bytes) -> Self {
        Self { length: bytes.len() as u64, left: bytes, pace: None, end: None }
    }

    /// The same without its bytes, for `HEAD`.
    pub fn silent(self) -> Self {
        Self { left: Bytes::new(), pace: None, end: None, ..self }
    }

    /// The same at so many bytes a second.
    pub fn held_back(self, bytes_per_second: u64, timer: &Timer) -> Self {
        let begun_ns = monotonic();
        let first = piece(bytes_per_second, self.left.len());
        let sleep = timer.sleep_until(due_ns(begun_ns, bytes_per_second, first as u64));
        Self { pace: Some(Pace { bytes_per_second, begun_ns, sent: 0, sleep }), ..self }
    }

    /// The same, but after so many of its bytes, and at most all but the last, this comes.
    pub fn cut(mut self, after_bytes: u64, end: End, fate: &Fate) -> Self {
        let most = self.left.len().saturating_sub(1) as u64;
        self.left.truncate(after_bytes.min(most) as usize);
        self.end = Some((end, fate.clone()));
        self
    }
}

/// When so many bytes may have been sent.
fn due_ns(begun_ns: u64, bytes_per_second: u64, bytes: u64) -> u64 {
    let after = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_second);
    begun_ns.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
}

/// Bytes that are sent at a time.
fn piece(bytes_per_second: u64, left: usize) -> usize {
    left.min((bytes_per_second / PIECES_PER_SECOND).max(1) as usize)
}

impl Body for Served {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        if body.left.is_empty() {
            return match &body.end {
                None => Poll::Ready(None),
                Some((end, fate)) => {
                    // The connection flushes what it has after this, and then looks at its fate.
                    match fate.seal(*end) {
                        Ok(()) => Poll::Pending,
                        Err(error) => Poll::Ready(Some(Err(error))),
                    }
                }
            };
        }
        let Some(pace) = &mut body.pace else {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut body.left)))));
        };
        ready!(Pin::new(&mut pace.sleep).poll(context));
        let now = body.left.split_to(piece(pace.bytes_per_second, body.left.len()));
        pace.sent += now.len() as u64;
        let next = piece(pace.bytes_per_second, body.left.len()) as u64;
        pace.sleep.reset(due_ns(pace.begun_ns, pace.bytes_per_second, pace.sent + next));
        Poll::Ready(Some(Ok(Frame::data(now))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.end.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
