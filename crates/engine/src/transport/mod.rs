//! What carries the bytes: TCP, TLS, Unix sockets, and in-memory pipes for virtual time.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use record::FailureKind;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::clock::Clock;
use crate::driver::Exchange;

/// A target made ready to be connected to: resolved once, before the run.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port as the URL names them, for `Host` headers.
    pub authority: String,
    /// Where to connect.
    pub address: Address,
    /// TLS, if the URL asks for it.
    pub tls: Option<Tls>,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// In order of preference.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
    /// A server of the virtual network, by name.
    Memory(String),
}

/// TLS towards an endpoint.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Roots, client certificate, versions.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that the certificate must carry.
    pub server_name: rustls::pki_types::ServerName<'static>,
}

/// Opens streams. Real sockets implement it, and the virtual network.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Network: Clone + 'static {
    /// Connects, stamping the `connect` and `tls` spans of the exchange.
    ///
    /// Errors: the kind of failure and what was seen
    async fn open<C: Clock>(
        &self,
        endpoint: &Endpoint,
        exchange: &mut Exchange<C>,
    ) -> Result<Stream, (FailureKind, String)>;
}

/// An open stream of bytes.
#[derive(Debug)]
pub enum Stream {
    /// TCP, with `TCP_NODELAY`.
    Tcp(TcpStream),
    /// TLS over TCP.
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
    /// A Unix socket.
    Unix(UnixStream),
    /// A pipe of the virtual network.
    Memory(DuplexStream),
}

macro_rules! on_stream {
    ($self:expr, $stream:ident => $body:expr) => {
        match $self.get_mut() {
            Stream::Tcp($stream) => $body,
            Stream::Tls($stream) => $body,
            Stream::Unix($stream) => $body,
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

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}
