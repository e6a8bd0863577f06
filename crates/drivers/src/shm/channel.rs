//! One connection: a client of the channel, and what wakes it.
//!
//! Nothing here blocks: a worker looks for as long as the operation says, and then the runtime waits for the channel's
//! eventfd, and for the socket, whose hang-up is the producer's end.

use std::future::poll_fn;
use std::hint::spin_loop;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use engine::transport::Stream;
use record::FailureKind;
use shm_channel::{Answer, Client, Error, Greeting};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

use super::failure::Failure;
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
}

/// A connection that carries one operation at a time.
#[derive(Debug)]
pub struct Channel {
    client: Client,
    eventfd: AsyncFd<Arc<OwnedFd>>,
    socket: AsyncFd<Arc<OwnedFd>>,
    /// What `encode` was given.
    pub(super) call: Call,
    /// What it made of that.
    pub(super) request: Vec<u8>,
}

impl Channel {
    /// Holds the greeting over a connected stream, and maps the regions.
    ///
    /// Errors: the producer's refusal, its end, or what is no producer
    pub async fn over(stream: Stream) -> Result<Self, Failure> {
        let Stream::Unix(socket) = stream else {
            let detail = "a shared-memory channel is reached over a Unix socket";
            return Err(Failure::new(FailureKind::Unreachable, detail));
        };
        let socket = watched(Arc::new(OwnedFd::from(socket.into_std()?)))?;
        let mut greeting = Greeting::over(Arc::clone(socket.get_ref()));
        let client = loop {
            let mut readable = socket.readable().await?;
            match greeting.answer(Duration::ZERO)? {
                Ok(client) => break client,
                Err(unanswered) => greeting = unanswered,
            }
            readable.clear_ready();
        };
        let eventfd = watched(client.shared_eventfd())?;
        let call = Call { index: 0, operation: 0, sequence: 0, row: 0, trial: 1, seed: 0, now: 0 };
        Ok(Self { client, eventfd, socket, call, request: Vec::new() })
    }

    /// Sends what was encoded, waits for its answer and stamps both.
    ///
    /// Errors: what the producer said instead, or what became of it
    pub async fn ask<C: Clock>(
        &mut self,
        wish: Wish,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        self.client.submit(&self.request, wish.room).map_err(Failure::unsent)?;
        exchange.bytes_sent += self.request.len() as u64;
        let written_at = exchange.now();
        exchange.stamp(WRITTEN, written_at - exchange.started_at);
        if wish.spin > 0 {
            // Exchanges that never wait must not keep the worker: others have a turn, and the runtime looks what is due.
            yield_now().await;
        }
        let answered = match self.look(written_at, wish.spin, exchange) {
            Some(answered) => answered,
            None => self.wait().await,
        };
        exchange.note_read();
        exchange.stamp(WAITED, exchange.read_at - written_at);
        let answer = answered?;
        exchange.bytes_received += answer.len() as u64;
        Ok(answer)
    }

    /// Resolves when the producer is gone.
    pub async fn idle(&self) {
        // That it cannot be known is as bad as its end.
        let _ = poll_fn(|context| self.poll_hang_up(context)).await;
    }

    /// How the one exchange under way has ended, if it has.
    fn taken(&mut self) -> Option<Result<Answer, Error>> {
        self.client.take().transpose().map(|done| done.and_then(|done| done.outcome))
    }

    /// Looks, and does nothing else, until `spin` nanoseconds have passed since then.
    fn look<C: Clock>(
        &mut self,
        since: u64,
        spin: u64,
        exchange: &Exchange<C>,
    ) -> Option<Result<Answer, Error>> {
        while exchange.now() - since < spin {
            for _ in 0..LOOKS {
                if let Some(answered) = self.taken() {
                    return Some(answered);
                }
                spin_loop();
            }
        }
        None
    }

    /// Waits for the eventfd, as the channel's README says, and for the hang-up.
    async fn wait(&mut self) -> Result<Answer, Error> {
        loop {
            let is_there = self.client.arm();
            let is_over = !is_there && self.woken().await?;
            self.client.disarm();
            if is_there {
                yield_now().await;
            }
            // What was answered last came before the end.
            if let Some(answered) = self.taken() {
                return answered;
            }
            if is_over {
                return Err(Error::Gone);
            }
        }
    }

    /// Resolves when there may be an answer, or with `true` when there will be none.
    async fn woken(&self) -> Result<bool, Error> {
        let woken = poll_fn(|context| self.poll_woken(context)).await;
        woken.map_err(|source| Error::Io { doing: "waiting for an answer", source })
    }

    fn poll_woken(&self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if let Poll::Ready(readable) = self.eventfd.poll_read_ready(context) {
            readable?.clear_ready();
            return Poll::Ready(Ok(false));
        }
        self.poll_hang_up(context).map_ok(|()| true)
    }

    fn poll_hang_up(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut readable = ready!(self.socket.poll_read_ready(context))?;
            if self.client.is_gone() {
                return Poll::Ready(Ok(()));
            }
            // Nothing more is to be said there, and what is said all the same means nothing.
            readable.clear_ready();
        }
    }
}

#[expect(deprecated, reason = "its safe successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watched(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}
