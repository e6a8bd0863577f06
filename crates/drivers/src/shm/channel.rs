//! One stream: a desk at a client of the channel, and what is asked from it.
//!
//! Nothing here blocks: a worker looks for as long as the operation says, and then the runtime waits for the channel's
//! eventfd, and for the socket, whose hang-up is the producer's end.

use std::hint::spin_loop;
use std::rc::Rc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use shm_channel::{Answer, Error};
use tokio::task::yield_now;

use super::failure::Failure;
use super::link::{Link, Waiting};
use super::{WAITED, WRITTEN};

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// How an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Bytes lent for it; those of one slot where that is more.
    pub room: usize,
    /// Nanoseconds to look for it before the worker turns to others.
    pub spin: u64,
    /// Whether the producer is asked when it took the request up and when its answer was ready.
    pub times: bool,
}

/// A stream, which carries one operation at a time.
#[derive(Debug)]
pub struct Channel {
    link: Rc<Link>,
    desk: usize,
    /// What `encode` was given.
    pub(super) call: Call,
    /// What it made of that.
    pub(super) request: Vec<u8>,
    /// The answer in memory of our own, where an expectation reads it.
    pub(super) answer: Vec<u8>,
}

impl Channel {
    /// One more stream of a connection.
    pub(super) fn open(link: &Rc<Link>) -> Self {
        let call = Call { index: 0, operation: 0, sequence: 0, row: 0, trial: 1, seed: 0, now: 0 };
        let (request, answer) = Default::default();
        Self { link: Rc::clone(link), desk: link.take_desk(), call, request, answer }
    }

    /// Sends what was encoded, waits for its answer and stamps both.
    ///
    /// Errors: what the producer said instead, or what became of it
    pub async fn ask<C: Clock>(
        &mut self,
        wish: Wish,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        let waiting = self.link.submit(self.desk, &self.request, wish).map_err(Failure::unsent)?;
        exchange.bytes_sent += self.request.len() as u64;
        let written_at = exchange.now();
        exchange.stamp(WRITTEN, written_at - exchange.started_at);
        if wish.spin > 0 {
            // Exchanges that never wait must not keep the worker: others have a turn, and the runtime looks what is due.
            yield_now().await;
        }
        let answered = match look(&waiting, written_at, wish.spin, exchange) {
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
        self.link.lose();
    }

    /// Resolves when the producer is gone.
    pub async fn idle(&self) {
        self.link.end(self.desk).await;
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.link.leave_desk(self.desk);
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
