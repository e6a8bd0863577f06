//! A client's stream, as an intermediary needs it.
//!
//! - It can be broken instead of closed. hyper leaves an answer that broke off unfinished and closes the stream. Where
//!   the framing has a length or chunks, the client sees that something is missing; where the end of the stream is the
//!   end of the answer, as for clients of HTTP/1.0, it must see a reset.
//! - Closed with bytes on their way to it, the kernel would reset it, and an answer given before the request's end
//!   might be lost: it takes in what comes for a while after its last word.
//! - Requests that can be read in two ways are spoilt (see `scan`).
//! - Interim answers (1xx) are written between two messages, which hyper's server does not do (see `interim`).
//! - A client that closes its sending side after a whole request still gets the answer; one that resets is given up. The
//!   server over the stream must therefore allow half-closed clients (hyper: `half_close(true)`) and leave it to the
//!   stream to notice a reset.
//!
//! It may be the kernel's, or a stream over it, such as TLS.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Bytes;
use socket2::SockRef;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::outbox::Outbox;
use crate::scan::Scan;

/// How long what comes after the last word is taken in.
const LINGER: Duration = Duration::from_secs(1);

/// What is spoken over a TCP connection.
pub trait OverTcp: AsyncRead + AsyncWrite + Unpin {
    /// The connection.
    fn tcp(&self) -> &TcpStream;
}

impl OverTcp for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

/// A client's stream.
#[derive(Debug)]
pub struct Socket<S: OverTcp = TcpStream> {
    stream: S,
    shared: Arc<Shared>,
    /// What is left of an interim answer that is being written.
    interim: Bytes,
    scan: Scan,
    /// Whether the client's end was read.
    has_ended: bool,
    /// Notices a reset where the stream cannot: there is more to read before it, or the client's end was.
    hang_up: Option<AsyncFd<OwnedFd>>,
    /// Set after the last word: how long to go on reading.
    linger: Option<Pin<Box<Sleep>>>,
}

/// What can be done to a [`Socket`] that somebody else holds.
#[derive(Debug, Clone)]
pub struct Handle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_broken: AtomicBool,
    outbox: Outbox,
}

impl<S: OverTcp> Socket<S> {
    /// A stream and its handle.
    pub fn new(stream: S) -> (Self, Handle) {
        let shared = Arc::<Shared>::default();
        let handle = Handle(Arc::clone(&shared));
        let socket = Self {
            stream,
            shared,
            interim: Bytes::new(),
            scan: Scan::default(),
            has_ended: false,
            hang_up: None,
            linger: None,
        };
        (socket, handle)
    }

    /// Writes what was begun of an interim answer, and begins one where that may be: between two messages.
    fn poll_interim(&mut self, context: &mut Context<'_>, may_begin: bool) -> Poll<io::Result<()>> {
        loop {
            if self.interim.is_empty() {
                match may_begin.then(|| self.shared.outbox.take()).flatten() {
                    Some(head) => self.interim = head,
                    None => return Poll::Ready(Ok(())),
                }
            }
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.interim))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(self.interim.split_to(written)),
            }
            if self.interim.is_empty() {
                self.shared.outbox.sent();
            }
        }
    }

    /// Notices that the client is gone while its request is answered, when nothing reads.
    ///
    /// Errors: it has reset the connection
    fn notice_reset(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.has_ended || !self.scan.is_after_request() {
            return Ok(());
        }
        let hang_up = match &self.hang_up {
            Some(hang_up) => hang_up,
            None if self.stream.tcp().poll_read_ready(context).is_pending() => return Ok(()),
            // Another request, the client's end, or a reset: the last of them hangs up.
            None => self.hang_up.insert(watch(self.stream.tcp())?),
        };
        match hang_up.poll_write_ready(context) {
            Poll::Pending => Ok(()),
            Poll::Ready(_) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}

/// Resolves a wait for room to write when the connection hangs up, as nothing but reading is asked for.
#[expect(deprecated, reason = "its successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watch(connection: &TcpStream) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(connection.as_fd().try_clone_to_owned()?, Interest::READABLE)
}

impl Handle {
    /// From now on the stream's end is a reset.
    pub fn break_off(&self) {
        self.0.is_broken.store(true, Ordering::Relaxed);
    }

    /// Where interim answers are put; only while no other answer is, over HTTP/1.1, and in the task of the connection.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }
}

impl<S: OverTcp> Drop for Socket<S> {
    fn drop(&mut self) {
        if self.shared.is_broken.load(Ordering::Relaxed) {
            // A stream that is gone already needs no reset.
            let _ = SockRef::from(self.stream.tcp()).set_linger(Some(Duration::ZERO));
        }
    }
}

impl<S: OverTcp> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        self.has_ended |= is_end && matches!(read, Poll::Ready(Ok(())));
        self.scan.follow(&mut buffer.filled_mut()[before..]);
        read
    }
}

impl<S: OverTcp> AsyncWrite for Socket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_interim(context, false))?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// hyper calls it whenever it has looked after the connection and has nothing left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_interim(context, true))?;
        self.notice_reset(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, linger, .. } = self.get_mut();
        let end = match linger {
            Some(end) => end,
            None => {
                ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
                linger.insert(Box::pin(sleep(LINGER)))
            }
        };
        loop {
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Pending => return end.as_mut().poll(context).map(Ok),
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                // The client has ended its side, too, or is gone.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_interim(context, false))?;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
