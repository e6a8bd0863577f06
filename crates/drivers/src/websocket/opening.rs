//! A fresh connection on which an operation opens a socket, and closes it.

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::failure::Failure;
use super::handshake::{Answer, Handshake, Request};

/// A close frame with the code 1000, masked with zeros (RFC 6455 section 5.5.1).
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

/// A connection without a socket yet.
#[derive(Debug)]
pub struct Opening {
    stream: Option<Stream>,
    /// Host and port of the target.
    pub(super) authority: String,
    /// Whether it is TLS.
    pub(super) is_secure: bool,
    /// The encoded request.
    pub(super) request: Request,
    /// What the server answered.
    pub(super) answer: Answer,
}

impl Opening {
    /// A connection over this stream, to this host and port.
    pub fn new(stream: Stream, authority: &str) -> Self {
        let (request, answer) = Default::default();
        let (is_secure, authority) = (stream.is_tls(), authority.to_owned());
        Self { stream: Some(stream), authority, is_secure, request, answer }
    }

    /// Opens the socket; then closes it, without waiting for the peer.
    ///
    /// Errors: as for a handshake
    pub async fn open<C: Clock>(
        &mut self,
        handshake: &Handshake,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let Some(stream) = self.stream.take() else {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        };
        let opened = handshake.open(&self.request, stream, &mut self.answer, exchange).await?;
        let mut stream = opened.into_stream();
        // The operation has ended with the handshake: a peer that is gone by now has answered it.
        let _ = stream.write_all(&CLOSE).await;
        let _ = stream.flush().await;
        Ok(())
    }

    /// Resolves when the connection has ended, or the peer speaks first.
    pub async fn idle(&mut self) {
        if let Some(stream) = &mut self.stream {
            let _ = stream.read_u8().await;
        }
    }
}
