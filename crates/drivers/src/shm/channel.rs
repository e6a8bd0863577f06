//! One stream: a slot at a client of the channel.
//!
//! Nothing here blocks: a worker polls for as long as the operation says; then the runtime waits for the channel's
//! eventfd, and for the socket, which hangs up when the producer ends.

use std::hint::spin_loop;
use std::rc::Rc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use shm_channel::{Answer, Error};
use tokio::task::yield_now;

use super::failure::Failure;
use super::options::AnswerOptions;
use super::shared_client::{SharedClient, Waiting};
use super::{WAITED, WRITTEN};

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// A stream, which carries one operation at a time.
#[derive(Debug)]
pub struct Channel {
    client: Rc<SharedClient>,
    slot: usize,
    /// What `encode` was given.
    pub(super) call: Call,
    /// What it made of that.
    pub(super) request: Vec<u8>,
    /// The answer in memory of our own, where an expectation reads it.
    pub(super) answer: Vec<u8>,
}

impl Channel {
    /// One more stream of a connection.
    pub(super) fn open(client: &Rc<SharedClient>) -> Self {
        let call = Call { trial: 1, ..Call::default() };
        let (request, answer) = Default::default();
        Self { client: Rc::clone(client), slot: client.take_slot(), call, request, answer }
    }

    /// Sends what was encoded, waits for its answer and stamps both.
    ///
    /// Errors: what the producer said instead, or what became of it
    pub async fn exchange<C: Clock>(
        &mut self,
        options: AnswerOptions,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        let waiting =
            self.client.submit(self.slot, &self.request, options).map_err(Failure::unsent)?;
        exchange.bytes_sent += self.request.len() as u64;
        let written_at = exchange.now();
        exchange.stamp(WRITTEN, written_at - exchange.started_at);
        if options.spin > 0 {
            // Exchanges that never wait must not keep the worker: others have a turn, and the runtime looks what is due.
            yield_now().await;
        }
        let answered = match look(&waiting, written_at, options.spin, exchange) {
            Some(answered) => answered,
            None => waiting.answer().await,
        };
        exchange.note_read();
        exchange.stamp(WAITED, exchange.read_at - written_at);
        let answer = answered?;
        exchange.bytes_received += answer.len() as u64;
        Ok(answer)
    }

    /// Its connection is out of step, for all of its streams.
    pub(super) fn lose(&self) {
        self.client.lose();
    }

    /// Resolves when the producer is gone.
    pub async fn idle(&self) {
        self.client.end(self.slot).await;
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.client.release_slot(self.slot);
    }
}

/// Looks, and does nothing else, until `spin` nanoseconds have passed since then.
fn look<C: Clock>(
    waiting: &Waiting<'_>,
    since: u64,
    spin: u64,
    exchange: &Exchange<C>,
) -> Option<Result<Answer, Error>> {
    while exchange.now() - since < spin {
        for _ in 0..LOOKS {
            if let Some(answered) = waiting.taken() {
                return Some(answered);
            }
            spin_loop();
        }
    }
    None
}
