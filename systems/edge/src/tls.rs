//! A client's stream, in the clear or over TLS, where HTTP/2 and HTTP/1.1 are what can be agreed on.
//!
//! Not here: TLS as a client (see [`origin::trust`](crate::origin::trust)), and certificates of clients.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use proxying::OverTcp;
use serving::error::BadOption;
use serving::settings::Settings;
use serving::tls::Identity;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What can be agreed on, the likeliest to be wished first (RFC 7301).
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The server's side of TLS.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: String,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tls").field("cert", &self.certificate).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads `cert` and `key`; without them there is none. What is wrong with them becomes a problem of the settings.
    pub fn read(settings: &Settings<'_>) -> Option<Self> {
        let made = Identity::read(settings).and_then(|found| found.map(Self::of).transpose());
        made.unwrap_or_else(|problem| {
            settings.refuse(problem);
            None
        })
    }

    fn of(identity: Identity) -> Result<Self, BadOption> {
        let certificate = identity.source().to_owned();
        let mut config = identity.config(rustls::ALL_VERSIONS)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }

    /// The file of the certificate, as it stands in the ready line.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

/// A connection that was accepted.
#[derive(Debug)]
pub enum Stream {
    /// As it is.
    Clear(TcpStream),
    /// Over TLS.
    Covered(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// What is spoken over: in the clear at once, over TLS after a handshake within this time.
    ///
    /// Errors: those of the handshake, or it took too long
    pub async fn open(stream: TcpStream, tls: Option<&Tls>, within: Duration) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Clear(stream)) };
        let shaken = tokio::time::timeout(within, tls.acceptor.accept(stream)).await;
        Ok(Self::Covered(Box::new(shaken.unwrap_or_else(|late| Err(late.into()))?)))
    }
}

impl OverTcp for Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Clear(stream) => stream,
            Self::Covered(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Covered(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Covered(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_flush(context),
            Self::Covered(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Covered(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Covered(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Clear(stream) => stream.is_write_vectored(),
            Self::Covered(stream) => stream.is_write_vectored(),
        }
    }
}
