//! Streams over the kernel's sockets.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;

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
use crate::worker::{First, either};

/// Nanoseconds after which an address that has not answered is given up for the next: the kernel's first retry.
const PATIENCE: u64 = 1_000_000_000;

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
                let connecting = connect_tcp(addresses, exchange.turn, exchange.clock().clone());
                let (socket, place) = connected(connecting, endpoint, exchange).await?;
                exchange.address = place;
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

/// Tries addresses until one answers, beginning with the one whose turn it is; the error is that of the last one.
/// Returns the place of the address beside the socket.
async fn connect_tcp<C: Clock>(
    addresses: &[SocketAddr],
    turn: usize,
    clock: C,
) -> io::Result<(TcpStream, usize)> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut order = in_turn(addresses, turn).peekable();
    while let Some(place) = order.next() {
        let connecting = TcpStream::connect(addresses[place]);
        let ended = match order.peek() {
            None => connecting.await,
            Some(_) => within_patience(connecting, &clock).await,
        };
        match ended {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok((socket, place));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Places of the addresses of the first one's family, from the one whose turn it is, and then of the others.
fn in_turn(addresses: &[SocketAddr], turn: usize) -> impl Iterator<Item = usize> {
    let is_alike = |address: &&SocketAddr| address.is_ipv4() == addresses[0].is_ipv4();
    let alike = addresses.iter().take_while(is_alike).count();
    (0..alike).map(move |step| (turn % alike + step) % alike).chain(alike..addresses.len())
}

/// Awaits a socket as long as others wait to be tried.
async fn within_patience<C: Clock>(
    connecting: impl Future<Output = io::Result<TcpStream>>,
    clock: &C,
) -> io::Result<TcpStream> {
    let until = clock.now().saturating_add(PATIENCE);
    match either(pin!(connecting), clock.sleep_until(until)).await {
        First::Left(ended) => ended,
        First::Right(()) => Err(io::ErrorKind::TimedOut.into()),
    }
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
