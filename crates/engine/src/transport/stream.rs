//! One open stream of bytes over any transport.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// An open stream of bytes.
#[derive(Debug)]
pub enum Stream {
    /// TCP, with `TCP_NODELAY`.
    Tcp(TcpStream),
    /// TLS over TCP.
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over a Unix socket.
    TlsUnix(Box<tokio_rustls::client::TlsStream<UnixStream>>),
    /// A pipe of the virtual network.
    Memory(DuplexStream),
}

impl Stream {
    /// Whether it is TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::TlsUnix(_))
    }

    /// The protocol that TLS negotiated (ALPN), if there is one.
    pub fn alpn(&self) -> Option<&[u8]> {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            Self::TlsUnix(stream) => stream.get_ref().1.alpn_protocol(),
            Self::Tcp(_) | Self::Unix(_) | Self::Memory(_) => None,
        }
    }
}

macro_rules! on_stream {
    ($self:expr, $stream:ident => $body:expr) => {
        match $self.get_mut() {
            Stream::Tcp($stream) => $body,
            Stream::Tls($stream) => $body,
            Stream::Unix($stream) => $body,
            Stream::TlsUnix($stream) => $body,
            Stream::Memory($stream) => $body,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => Pin::new(stream).poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
            Self::TlsUnix(stream) => stream.is_write_vectored(),
            Self::Memory(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}
