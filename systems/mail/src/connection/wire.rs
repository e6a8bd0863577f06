//! The stream under a session, in the clear or over TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::tls::{Tls, version_name};

/// A stream that may switch to TLS once.
pub(super) enum Wire<T> {
    Plain(T),
    Tls(Box<TlsStream<T>>),
    /// The handshake failed.
    Broken,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Wire<T> {
    /// Performs the handshake; returns the version.
    pub(super) async fn secure(&mut self, tls: &Tls) -> io::Result<&'static str> {
        let Self::Plain(stream) = std::mem::replace(self, Self::Broken) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let stream = tls.acceptor().accept(stream).await?;
        let version = version_name(stream.get_ref().1.protocol_version());
        *self = Self::Tls(Box::new(stream));
        Ok(version)
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

fn broken<O>() -> Poll<io::Result<O>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Broken => broken(),
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Broken => broken(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Broken => broken(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Broken => broken(),
        }
    }
}
