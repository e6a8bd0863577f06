//! Streams over the kernel's sockets.

use std::io;
use std::net::SocketAddr;

use record::FailureKind;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::endpoint::{Address, Endpoint};
use super::failure::{describe, failure_kind};
use super::tls::Tls;
use super::{Network, Stream};
use crate::clock::Clock;
use crate::exchange::Exchange;

/// The real network: TCP with `TCP_NODELAY`, Unix sockets, TLS over either.
///
/// Streams end by an ordinary close. A reset would avoid TIME_WAIT, but would hide the cost of
/// closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kernel;

impl Network for Kernel {
    async fn open<C: Clock>(
        &self,
        endpoint: &Endpoint,
        exchange: &mut Exchange<C>,
    ) -> Result<Stream, (FailureKind, String)> {
        match &endpoint.address {
            Address::Tcp(addresses) => {
                let socket = connected(connect_tcp(addresses), endpoint, exchange).await?;
                match &endpoint.tls {
                    None => Ok(Stream::Tcp(socket)),
                    Some(tls) => {
                        Ok(Stream::Tls(Box::new(handshake(tls, socket, endpoint, exchange).await?)))
                    }
                }
            }
            Address::Unix(path) | Address::Channel(path) => {
                let socket = connected(UnixStream::connect(path), endpoint, exchange).await?;
                match &endpoint.tls {
                    None => Ok(Stream::Unix(socket)),
                    Some(tls) => {
                        let secured = handshake(tls, socket, endpoint, exchange).await?;
                        Ok(Stream::TlsUnix(Box::new(secured)))
                    }
                }
            }
            Address::Memory(name) => {
                let detail = format!("{name} is an address of the virtual network");
                Err((FailureKind::Unreachable, detail))
            }
        }
    }
}

/// Awaits a socket and stamps `connect`, even if connecting fails: that time was spent connecting.
async fn connected<S, C: Clock>(
    connecting: impl Future<Output = io::Result<S>>,
    endpoint: &Endpoint,
    exchange: &mut Exchange<C>,
) -> Result<S, (FailureKind, String)> {
    let begun_at = exchange.now();
    let result = connecting.await;
    exchange.spans.set(Exchange::<C>::CONNECT, exchange.now().saturating_sub(begun_at));
    result.map_err(|error| {
        (failure_kind(&error), describe(&format!("connecting to {endpoint}"), &error))
    })
}

/// Tries the addresses in order; the error is that of the last one.
async fn connect_tcp(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Switches a plain stream to TLS, as `STARTTLS` does, and stamps `tls`.
///
/// No bytes may have been read ahead of the handshake: anyone could have injected them in the
/// clear.
///
/// Errors: the endpoint has no TLS, or the stream has it already; a failed handshake
pub async fn secure<C: Clock>(
    stream: Stream,
    endpoint: &Endpoint,
    exchange: &mut Exchange<C>,
) -> Result<Stream, (FailureKind, String)> {
    let Some(tls) = &endpoint.upgrade else {
        return Err((FailureKind::Tls, format!("{endpoint} is not to be upgraded to TLS")));
    };
    match stream {
        Stream::Tcp(socket) => {
            let secured = handshake(tls, socket, endpoint, exchange).await?;
            Ok(Stream::Tls(Box::new(secured)))
        }
        Stream::Unix(socket) => {
            let secured = handshake(tls, socket, endpoint, exchange).await?;
            Ok(Stream::TlsUnix(Box::new(secured)))
        }
        Stream::Tls(_) | Stream::TlsUnix(_) | Stream::Memory(_) => {
            Err((FailureKind::Tls, format!("the stream to {endpoint} cannot be upgraded to TLS")))
        }
    }
}

/// Performs the handshake and stamps `tls`. Failures of the peer count as `tls`, unless the
/// connection broke.
async fn handshake<S: AsyncRead + AsyncWrite + Unpin, C: Clock>(
    tls: &Tls,
    socket: S,
    endpoint: &Endpoint,
    exchange: &mut Exchange<C>,
) -> Result<TlsStream<S>, (FailureKind, String)> {
    let begun_at = exchange.now();
    let connector = TlsConnector::from(tls.config.clone());
    let result = connector.connect(tls.server_name.clone(), socket).await;
    exchange.spans.set(Exchange::<C>::TLS, exchange.now().saturating_sub(begun_at));
    result.map_err(|error| {
        let kind = match failure_kind(&error) {
            kind @ (FailureKind::Reset | FailureKind::LocalLimit) => kind,
            _ => FailureKind::Tls,
        };
        (kind, describe(&format!("TLS handshake with {endpoint}"), &error))
    })
}
