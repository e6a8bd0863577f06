//! A client's stream, which can be broken instead of closed.
//!
//! hyper leaves an answer that broke off unfinished and closes the stream. Where the framing has a length or chunks,
//! the client sees that something is missing; where the end of the stream is the end of the answer, as for clients of
//! HTTP/1.0, it must see a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A stream and whether it ends with a reset.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    is_broken: Arc<AtomicBool>,
}

/// Breaks a [`Socket`] that somebody else holds, as soon as that is dropped.
#[derive(Debug)]
pub struct Breaker(Arc<AtomicBool>);

impl Socket {
    /// A stream and its breaker.
    pub fn new(stream: TcpStream) -> (Self, Breaker) {
        let is_broken = Arc::new(AtomicBool::new(false));
        (Self { stream, is_broken: Arc::clone(&is_broken) }, Breaker(is_broken))
    }
}

impl Breaker {
    /// From now on the stream's end is a reset.
    pub fn break_off(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_broken.load(Ordering::Relaxed) {
            // A stream that is gone already needs no reset.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
