//! One stream of a socket: a message, and the message that answers it.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use tokio_websockets::Message;

use super::correlation::{Correlation, Wanted};
use super::failure::Failure;
use super::socket::Socket;

/// A stream, which carries one operation at a time.
#[derive(Debug)]
pub struct AskStream {
    socket: Rc<Socket>,
    slot: usize,
    /// What `encode` was given.
    pub(super) call: Call,
    /// The message of that call.
    pub(super) message: Vec<u8>,
    /// What its answer has in it.
    pub(super) wanted: Wanted,
    /// Memory for texts that are rendered.
    pub(super) rendered: Vec<u8>,
    /// The answer.
    pub(super) answer: Vec<u8>,
}

impl AskStream {
    /// One more stream of a socket.
    pub fn open(socket: &Rc<Socket>) -> Self {
        let (wanted, message, rendered, answer) = Default::default();
        Self {
            socket: Rc::clone(socket),
            slot: socket.take_slot(),
            call: Call { trial: 1, ..Call::default() },
            message,
            wanted,
            rendered,
            answer,
        }
    }

    /// Sends the message and waits for its answer.
    ///
    /// Errors: how the socket has ended
    pub async fn exchange<C: Clock>(
        &mut self,
        is_binary: bool,
        correlation: &Arc<Correlation>,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let bytes = self.message.clone();
        exchange.bytes_sent += bytes.len() as u64;
        let message = match is_binary {
            true => Message::binary(bytes),
            // Templates may render any bytes; a text frame may not.
            false => match String::from_utf8(bytes) {
                Ok(text) => Message::text(text),
                Err(error) => Message::text(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            },
        };
        let waiting = self.socket.send(self.slot, message, correlation, &mut self.wanted)?;
        let answer = &mut self.answer;
        exchange.read_at = poll_fn(|context| waiting.poll(context, answer)).await?;
        exchange.bytes_received += self.answer.len() as u64;
        Ok(())
    }

    /// How many messages came to the socket that answered nothing, since this was asked.
    pub fn take_unasked(&self) -> u64 {
        self.socket.take_unasked()
    }

    /// Whether the socket carries further operations.
    pub fn is_usable(&self) -> bool {
        self.socket.is_usable()
    }

    /// Resolves when the socket has ended.
    pub async fn idle(&self) {
        self.socket.end(self.slot).await;
    }
}

impl Drop for AskStream {
    fn drop(&mut self) {
        self.socket.release_slot(self.slot);
    }
}
