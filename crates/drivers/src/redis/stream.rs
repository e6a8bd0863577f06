//! One stream of a connection: a command, and its reply.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};

use super::FIRST_BYTE;
use super::connection::{Arrival, Connection};
use super::failure::Failure;

/// A stream, which carries one operation at a time.
#[derive(Debug)]
pub struct CommandStream {
    connection: Rc<Connection>,
    slot: usize,
    /// What `encode` was given.
    pub(super) call: Call,
    /// The command of that call.
    pub(super) command: Vec<u8>,
    /// Memory for words that are rendered.
    pub(super) rendered: Vec<u8>,
    /// The reply.
    pub(super) reply: Vec<u8>,
    /// Its text, where an expectation reads it.
    pub(super) text: Vec<u8>,
}

impl CommandStream {
    /// One more stream of a connection.
    pub fn open(connection: &Rc<Connection>) -> Self {
        let (command, rendered, reply, text) = Default::default();
        Self {
            connection: Rc::clone(connection),
            slot: connection.take_slot(),
            call: Call { trial: 1, ..Call::default() },
            command,
            rendered,
            reply,
            text,
        }
    }

    /// Sends the command and waits for its reply.
    ///
    /// Errors: the server's refusal, or how the connection has ended
    pub async fn exchange<C: Clock>(&mut self, exchange: &mut Exchange<C>) -> Result<(), Failure> {
        let waiting = self.connection.send(self.slot, &self.command)?;
        exchange.bytes_sent += self.command.len() as u64;
        let reply = &mut self.reply;
        let arrival = poll_fn(|context| waiting.poll(context, reply)).await?;
        self.note(arrival, exchange)
    }

    /// The same while the connection has no task yet.
    ///
    /// Errors: as above
    pub async fn exchange_alone<C: Clock>(
        &mut self,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let waiting = self.connection.send(self.slot, &self.command)?;
        let (connection, reply) = (&self.connection, &mut self.reply);
        let now = || exchange.now();
        let run = |context: &mut Context<'_>| {
            // How it has ended is seen by the stream.
            let _ended: Poll<()> = connection.poll_run(context, &now);
            waiting.poll(context, reply)
        };
        let arrival = poll_fn(run).await?;
        exchange.bytes_sent += self.command.len() as u64;
        exchange.bytes_received += arrival.length as u64;
        match arrival.is_error {
            true => Err(Failure::refusal(&self.reply)),
            false => Ok(()),
        }
    }

    fn note<C: Clock>(&self, arrival: Arrival, exchange: &mut Exchange<C>) -> Result<(), Failure> {
        exchange.read_at = arrival.read_at;
        exchange.bytes_received += arrival.length as u64;
        let first_byte = arrival.first_byte_at.saturating_sub(exchange.started_at);
        exchange.stamp(FIRST_BYTE, first_byte);
        if arrival.is_error { Err(Failure::refusal(&self.reply)) } else { Ok(()) }
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

impl Drop for CommandStream {
    fn drop(&mut self) {
        self.connection.release_slot(self.slot);
    }
}
