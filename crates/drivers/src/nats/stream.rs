//! One stream of a connection: an operation, and its answer.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};

use super::FIRST_BYTE;
use super::connection::{Connection, Sending};
use super::failure::Failure;
use super::pending::{Answer, Ending};

/// A stream, which carries one operation at a time.
#[derive(Debug)]
pub struct MessageStream {
    pub(super) connection: Rc<Connection>,
    pub(super) slot: usize,
    /// What `encode` was given.
    pub(super) call: Call,
    /// What it made of that.
    pub(super) encoded: Encoded,
    /// The reply, its headers first; for a publication nothing.
    pub(super) reply: Vec<u8>,
    /// Bytes of the reply's headers.
    pub(super) reply_headers: usize,
}

/// An operation as bytes, and the memory for its parts.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    /// All that is sent.
    pub(super) command: Vec<u8>,
    /// How many messages that is.
    pub(super) messages: usize,
    pub(super) subject: Vec<u8>,
    pub(super) reply_to: Vec<u8>,
    pub(super) headers: Vec<u8>,
    pub(super) payload: Vec<u8>,
    /// Why it cannot be sent.
    pub(super) problem: Option<Failure>,
}

impl MessageStream {
    /// One more stream of a connection.
    pub fn open(connection: &Rc<Connection>) -> Self {
        Self {
            connection: Rc::clone(connection),
            slot: connection.take_slot(),
            call: Call { trial: 1, ..Call::default() },
            encoded: Encoded::default(),
            reply: Vec::new(),
            reply_headers: 0,
        }
    }

    /// Sends the encoded operation and waits for what ends it.
    ///
    /// Errors: why it cannot be sent, the server's refusal, or how the connection has ended
    pub async fn exchange<C: Clock>(
        &mut self,
        ending: Ending,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let Self { connection, encoded, slot, reply, .. } = self;
        if let Some(problem) = encoded.problem.take() {
            return Err(problem);
        }
        let headers = encoded.headers.len();
        connection.check(ending, headers, headers + encoded.payload.len())?;
        let waiting = connection.send(*slot, encoded.sending(ending))?;
        exchange.bytes_sent += encoded.command.len() as u64;
        let answer = poll_fn(|context| waiting.poll(context, reply)).await?;
        self.reply_headers = answer.headers;
        exchange.read_at = answer.arrival.read_at;
        exchange.bytes_received += answer.arrival.length as u64;
        if ending == Ending::Reply {
            let first_byte = answer.arrival.first_byte_at.saturating_sub(exchange.started_at);
            exchange.stamp(FIRST_BYTE, first_byte);
        }
        Ok(())
    }

    /// Sends a command with a `PING` behind it, and waits for the `PONG`, while the connection has no task yet.
    ///
    /// Errors: the server's refusal, or how the connection has ended
    pub async fn exchange_alone<C: Clock>(
        &mut self,
        command: Vec<u8>,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let (connection, reply) = (&self.connection, &mut self.reply);
        let sending =
            Sending { command: &command, messages: 1, subject: b"", ending: Ending::Pong };
        let waiting = connection.send(self.slot, sending)?;
        let now = || exchange.now();
        let run = |context: &mut Context<'_>| {
            // How it has ended is seen by the stream.
            let _ended: Poll<()> = connection.poll_run(context, &now);
            waiting.poll(context, reply)
        };
        let answer: Answer = poll_fn(run).await?;
        exchange.bytes_sent += command.len() as u64;
        exchange.bytes_received += answer.arrival.length as u64;
        Ok(())
    }

    /// Headers and payload of the reply.
    pub fn reply(&self) -> (&[u8], &[u8]) {
        self.reply.split_at(self.reply_headers.min(self.reply.len()))
    }

    /// Whether the connection carries further operations.
    pub fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }

    /// Resolves when the connection has ended.
    pub async fn idle(&self) {
        self.connection.end(self.slot).await;
    }
}

impl Encoded {
    fn sending(&self, ending: Ending) -> Sending<'_> {
        let Self { command, messages, subject, .. } = self;
        Sending { command, messages: *messages, subject, ending }
    }
}

impl Drop for MessageStream {
    fn drop(&mut self) {
        self.connection.release_slot(self.slot);
    }
}
