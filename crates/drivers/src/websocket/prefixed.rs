//! A stream of which some bytes were read already.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use engine::transport::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that first gives what was read of it before.
#[derive(Debug)]
pub struct Prefixed {
    ahead: Vec<u8>,
    given: usize,
    stream: Stream,
}

impl Prefixed {
    /// The stream, after these bytes.
    pub fn new(ahead: Vec<u8>, stream: Stream) -> Self {
        Self { ahead, given: 0, stream }
    }

    /// The stream, without the bytes before it.
    pub fn into_stream(self) -> Stream {
        self.stream
    }
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.ahead[self.given..];
        if rest.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let length = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..length]);
        self.given += length;
        if self.given == self.ahead.len() {
            (self.ahead, self.given) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
