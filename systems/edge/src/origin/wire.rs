//! A connection that ends as it was told to, once all that was said before is with the kernel.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use proxying::OverTcp;
use socket2::SockRef;

use super::served::Fate;
use super::timeline::End;
use crate::tls::Stream;

/// A stream with its fate.
#[derive(Debug)]
pub struct Wire {
    stream: TokioIo<Stream>,
    fate: Fate,
}

impl Wire {
    /// A stream that meets this fate.
    pub fn new(stream: Stream, fate: Fate) -> Self {
        Self { stream: TokioIo::new(stream), fate }
    }

    /// Errors: the connection's end, if one was decided on
    fn meet(&self) -> io::Result<()> {
        match self.fate.sealed() {
            None | Some(End::Hang) => Ok(()),
            Some(End::Close) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(End::Reset) => {
                // Closed without lingering a connection is reset; if that cannot be set, it is closed.
                let _ = SockRef::from(self.stream.inner().tcp()).set_linger(Some(Duration::ZERO));
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Called when nothing is left to be written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Over TLS what was written may not be with the kernel yet.
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        Poll::Ready(self.meet())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        all: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, all)
    }
}
