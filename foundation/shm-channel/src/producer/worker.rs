//! A worker: the thread that answers its share of the clients.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::link::Link;
use super::room::{Reply, Room};
use super::{Settings, Tally, count};
use crate::layout::{BELL, BELL_LENGTH, WORKER_SLEEPS};
use crate::region::{self, Futex, Mapping};
use crate::sleep::Bell;
use crate::{Error, NAP};

/// What the gate tells a worker.
#[derive(Debug)]
pub(super) enum Notice {
    /// A client that is this worker's from now on.
    Joined(Box<Link>),
    /// The client of this number is gone.
    Left(u64),
}

/// Where the gate reaches a worker.
#[derive(Debug)]
pub(super) struct Desk {
    /// The bell's memory, for clients to map.
    pub memory: OwnedFd,
    bell: Arc<Mapping>,
    notices: Sender<Notice>,
}

impl Desk {
    /// Tells the worker; whether it still listens.
    pub(super) fn tell(&self, notice: Notice) -> bool {
        let is_heard = self.notices.send(notice).is_ok();
        ring(&self.bell);
        is_heard
    }
}

impl Drop for Desk {
    /// The end of the producer is told, too: the worker finds nobody at the other end.
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
    links: Vec<Link>,
    spin: Duration,
    drain: Duration,
    request: Vec<u8>,
    tally: Arc<Tally>,
}

/// How often a spinning worker looks before it reads the clock again.
const LOOKS: u32 = 64;

impl Worker {
    pub(super) fn new(settings: &Settings, tally: Arc<Tally>) -> Result<(Self, Desk), Error> {
        let memory = region::make("shm-bell", BELL_LENGTH as u64)?;
        let bell = Arc::new(Mapping::writable(&memory, BELL_LENGTH as u64)?);
        region::seal(&memory, false)?;
        let (sender, notices) = channel();
        let desk = Desk { memory, bell: bell.clone(), notices: sender };
        let Settings { spin, drain, .. } = *settings;
        let (links, request) = (Vec::new(), Vec::new());
        let worker = Self { bell, notices, links, spin, drain, request, tally };
        Ok((worker, desk))
    }

    /// Answers requests with `handler` until the producer is dropped, and then those that were
    /// asked before, for [`Settings::drain`] at most.
    ///
    /// The handler gets the request, copied out of shared memory, and the room for its answer. It
    /// is called for one request at a time, clients taking turns; while it works, no other client
    /// of this worker is answered. A panic of the handler goes through: its clients learn that the
    /// producer is gone.
    pub fn run(mut self, mut handler: impl FnMut(&[u8], &mut Room<'_>) -> Reply) {
        while self.listen() {
            if self.serve(&mut handler) == 0 && !self.spin() {
                self.sleep();
            }
        }
        self.drain(&mut handler);
    }

    /// Answers what was asked before the end. No client has more under way than it has slots, and
    /// each round answers one request of each.
    fn drain(&mut self, handler: &mut impl FnMut(&[u8], &mut Room<'_>) -> Reply) {
        let begun = Instant::now();
        let rounds = self.links.first().map_or(0, |link| link.geometry.slots());
        for _ in 0..rounds {
            if begun.elapsed() >= self.drain || self.serve(handler) == 0 {
                return;
            }
        }
    }

    /// Answers one request of each client that has one, without waiting: how many there were.
    ///
    /// For a thread that has other things to do; [`Worker::run`] is this in a loop. After the
    /// producer's end there is nobody to answer.
    pub fn turn(&mut self, handler: &mut impl FnMut(&[u8], &mut Room<'_>) -> Reply) -> usize {
        if !self.listen() {
            self.links.clear();
        }
        self.serve(handler)
    }

    /// Takes up what the gate told: whether the producer is still there.
    fn listen(&mut self) -> bool {
        loop {
            match self.notices.try_recv() {
                Ok(Notice::Joined(link)) => self.links.push(*link),
                Ok(Notice::Left(number)) => self.links.retain(|link| link.number != number),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn serve(&mut self, handler: &mut impl FnMut(&[u8], &mut Room<'_>) -> Reply) -> usize {
        let Self { links, request, tally, .. } = self;
        let mut served = 0;
        // One that writes nonsense is cut off, and no other is touched by that.
        links.retain_mut(|link| match link.serve(request, handler) {
            Ok(was_there) => {
                served += usize::from(was_there);
                true
            }
            Err(_) => {
                count(&tally.damaged);
                false
            }
        });
        served
    }

    /// Looks for something to do for a while: whether there is.
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
                if self.links.iter().any(Link::is_ready) {
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
            !goes_on || self.links.iter().any(Link::is_ready)
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
