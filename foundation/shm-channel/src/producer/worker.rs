//! A worker: the thread that answers its share of the clients.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::answer_buffer::{AnswerBuffer, Reply};
use super::connection::Connection;
use super::{Settings, SharedCounts, count};
use crate::layout::{BELL, BELL_LENGTH, WORKER_SLEEPS};
use crate::region::{self, Futex, Mapping};
use crate::sleep::Bell;
use crate::{Error, NAP};

/// What the acceptor sends to a worker.
#[derive(Debug)]
pub(super) enum Notice {
    /// A client that is this worker's from now on.
    Joined(Box<Connection>),
    /// The client of this number is gone.
    Left(u64),
}

/// Where the acceptor reaches a worker.
#[derive(Debug)]
pub(super) struct WorkerHandle {
    /// The bell's memory, for clients to map.
    pub memory: OwnedFd,
    bell: Arc<Mapping>,
    notices: Sender<Notice>,
}

impl WorkerHandle {
    /// Sends a notice; whether the worker still listens.
    pub(super) fn send(&self, notice: Notice) -> bool {
        let is_heard = self.notices.send(notice).is_ok();
        ring(&self.bell);
        is_heard
    }
}

impl Drop for WorkerHandle {
    /// So the worker learns of the producer's end: its channel is closed.
    fn drop(&mut self) {
        self.notices = channel().0;
        ring(&self.bell);
    }
}

/// Answers some of a producer's clients on the thread that runs it.
#[derive(Debug)]
pub struct Worker {
    bell: Arc<Mapping>,
    notices: Receiver<Notice>,
    connections: Vec<Connection>,
    spin: Duration,
    drain: Duration,
    request: Vec<u8>,
    counts: Arc<SharedCounts>,
}

/// How often a spinning worker looks before it reads the clock again.
const LOOKS: u32 = 64;

impl Worker {
    pub(super) fn new(
        settings: &Settings,
        counts: Arc<SharedCounts>,
    ) -> Result<(Self, WorkerHandle), Error> {
        let memory = region::make("shm-bell", BELL_LENGTH as u64)?;
        let bell = Arc::new(Mapping::writable(&memory, BELL_LENGTH as u64)?);
        region::seal(&memory, false)?;
        let (sender, notices) = channel();
        let handle = WorkerHandle { memory, bell: bell.clone(), notices: sender };
        let Settings { spin, drain, .. } = *settings;
        let (connections, request) = (Vec::new(), Vec::new());
        let worker = Self { bell, notices, connections, spin, drain, request, counts };
        Ok((worker, handle))
    }

    /// Answers requests with `handler` until the producer is dropped, and then those that were
    /// asked before, for [`Settings::drain`] at most.
    ///
    /// The handler gets the request, copied out of shared memory, and the buffer for its answer. It
    /// is called for one request at a time, clients taking turns; while it works, no other client
    /// of this worker is answered. A panic of the handler goes through: its clients learn that the
    /// producer is gone.
    pub fn run(mut self, mut handler: impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply) {
        while self.listen() {
            if self.serve(&mut handler) == 0 && !self.spin() {
                self.sleep();
            }
        }
        self.drain(&mut handler);
    }

    /// Answers what was asked before the end. No client has more under way than it has slots, and
    /// each round answers one request of each.
    fn drain(&mut self, handler: &mut impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply) {
        let begun = Instant::now();
        let rounds = self.connections.first().map_or(0, |connection| connection.geometry.slots());
        for _ in 0..rounds {
            if begun.elapsed() >= self.drain || self.serve(handler) == 0 {
                return;
            }
        }
    }

    /// Answers one request of each client that has one, without waiting; how many there were.
    ///
    /// For a thread that has other things to do; [`Worker::run`] is this in a loop. After the
    /// producer's end there is no client to answer.
    pub fn turn(
        &mut self,
        handler: &mut impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply,
    ) -> usize {
        if !self.listen() {
            self.connections.clear();
        }
        self.serve(handler)
    }

    /// Handles the notices of the acceptor; whether the producer is still there.
    fn listen(&mut self) -> bool {
        loop {
            match self.notices.try_recv() {
                Ok(Notice::Joined(connection)) => self.connections.push(*connection),
                Ok(Notice::Left(number)) => {
                    self.connections.retain(|connection| connection.number != number)
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn serve(&mut self, handler: &mut impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply) -> usize {
        let Self { connections, request, counts, .. } = self;
        let mut served = 0;
        // One that writes nonsense is cut off, and no other is touched by that.
        connections.retain_mut(|connection| match connection.serve(request, handler) {
            Ok(was_there) => {
                served += usize::from(was_there);
                true
            }
            Err(_) => {
                count(&counts.damaged);
                false
            }
        });
        served
    }

    /// Polls for a while; whether there is something to do.
    fn spin(&mut self) -> bool {
        if self.spin.is_zero() {
            return false;
        }
        let begun = Instant::now();
        while begun.elapsed() < self.spin {
            if !self.listen() {
                return true;
            }
            for _ in 0..LOOKS {
                if self.connections.iter().any(Connection::is_ready) {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        false
    }

    /// Sleeps until there is something to do, or for a nap: what a client wrote over the bell can
    /// cost others no more than that.
    fn sleep(&mut self) {
        let bell = self.bell.clone();
        let mut goes_on = true;
        Bell::of(&bell).sleep(&Futex { nap: NAP }, || {
            // A notice that waits is not consumed by a look: taking it up is looking.
            goes_on = self.listen();
            !goes_on || self.connections.iter().any(Connection::is_ready)
        });
    }
}

impl<'a> Bell<'a> {
    /// The bell in this memory.
    pub(crate) fn of(memory: &'a Mapping) -> Self {
        Self { word: memory.word(BELL), asleep: memory.word(WORKER_SLEEPS) }
    }
}

/// Wakes the worker whose bell this is.
pub(crate) fn ring(memory: &Mapping) {
    Bell::of(memory).ring(&Futex { nap: NAP });
}
