//! The engine's stream as the `h2` crate reads it, with a look at the first bytes that came.
//!
//! Where HTTP/2 is taken for granted, a server of HTTP/1.1 answers with an error of its own, which is no frame: to the
//! crate it is one of absurd length. Python's takes what it was sent for HTTP/0.9 and answers with a page alone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use engine::transport::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection_end::ConnectionEnd;

/// What servers of HTTP/1 begin with. The first byte of HTTP/2 is that of a short frame's length, which is 0.
const HTTP1: [&[u8]; 3] = [b"HTTP/1.", b"<!", b"<html"];

/// A stream that was looked at once.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    /// Until something came.
    unread: Option<Rc<ConnectionEnd>>,
}

impl Wire {
    /// Reads and writes this stream; what is learned of the peer goes to `ending`.
    pub fn new(stream: Stream, ending: Rc<ConnectionEnd>) -> Self {
        Self { stream, unread: Some(ending) }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let came = &buffer.filled()[before..];
        if let Some(ending) = self.unread.take_if(|_| !came.is_empty())
            && HTTP1.iter().any(|begin| came.starts_with(begin))
        {
            ending.note_http1();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
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
