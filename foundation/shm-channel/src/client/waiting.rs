//! How a client waits: polling, then on a futex; or on an eventfd, for callers without a thread to
//! spare.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, ReadWriteFlags};

use super::Client;
use crate::layout::CLIENT_SLEEPS;
use crate::region::Futex;
use crate::ring::{self, Look};
use crate::sleep::{self, Park};
use crate::{Error, NAP};

/// How often a spinning client looks before it reads the clock again.
const LOOKS: u32 = 64;

impl Client {
    /// Waits until [`Client::take`] has something: whether it has, before the time was over.
    ///
    /// Errors: [`Error::Gone`] within 20 ms of the producer's end, [`Error::Damaged`].
    pub fn wait(&mut self, patience: Duration) -> Result<bool, Error> {
        let until = Instant::now().checked_add(patience);
        loop {
            // What was abandoned is completed, too, and is nothing to take.
            self.collect()?;
            if !self.done.is_empty() {
                return Ok(true);
            }
            if !self.wait_until(until)? {
                return Ok(false);
            }
        }
    }

    /// Waits for the next completion; no instant is for ever.
    pub(super) fn wait_until(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.hold_together()?;
        if self.spin(until) {
            return Ok(true);
        }
        loop {
            let left = until.map_or(NAP, |until| until.saturating_duration_since(Instant::now()));
            self.sleep(left.min(NAP));
            if self.is_due() {
                return Ok(true);
            }
            if self.is_gone() {
                // What it answered last came before its end.
                return if self.is_due() { Ok(true) } else { Err(Error::Gone) };
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// The eventfd that becomes readable after [`Client::arm`] when there is something to take.
    pub fn eventfd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }

    /// The same for an event loop that keeps what it watches.
    pub fn shared_eventfd(&self) -> Arc<OwnedFd> {
        self.eventfd.clone()
    }

    /// Asks for the eventfd to become readable at the next completion: whether there is one already,
    /// so that there is nothing to wait for.
    ///
    /// The way to wait without a thread: take until there is nothing; arm; unless that says that
    /// there is something, wait until [`Client::eventfd`] is readable or [`Client::socket`] hangs
    /// up; [disarm](Client::disarm); begin again.
    pub fn arm(&mut self) -> bool {
        sleep::announce(self.requests.word(CLIENT_SLEEPS), sleep::ON_EVENTFD);
        !self.done.is_empty() || self.is_due()
    }

    /// The end of waiting on the eventfd, which is readable no more.
    pub fn disarm(&mut self) {
        sleep::retract(self.requests.word(CLIENT_SLEEPS));
        drain(&self.eventfd);
    }

    fn spin(&self, until: Option<Instant>) -> bool {
        if self.spin.is_zero() {
            return false;
        }
        let begun = Instant::now();
        let end = begun.checked_add(self.spin);
        let end = [end, until].into_iter().flatten().min();
        while end.is_none_or(|end| Instant::now() < end) {
            for _ in 0..LOOKS {
                if self.is_due() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.spin > NAP && begun.elapsed() > NAP && self.is_gone() {
                return false;
            }
        }
        false
    }

    fn sleep(&self, nap: Duration) {
        let said = self.requests.word(CLIENT_SLEEPS);
        sleep::announce(said, sleep::ON_FUTEX);
        if let Look::NotYet(seen) = ring::look(self.completions(), self.due) {
            let word = ring::stamp(self.completions(), self.due);
            Futex { nap }.park(word, seen);
        }
        sleep::retract(said);
    }

    /// Whether a look would find something.
    fn is_due(&self) -> bool {
        !matches!(ring::look(self.completions(), self.due), Look::NotYet(_))
    }
}

/// Takes back what the eventfd signalled, if it did.
///
/// The producer made it, and may have made a blocking one; nothing waits here all the same.
fn drain(eventfd: &OwnedFd) {
    let mut count = [0; 8];
    let mut into = [IoSliceMut::new(&mut count)];
    let read = rustix::io::preadv2(eventfd, &mut into, u64::MAX, ReadWriteFlags::NOWAIT);
    if read == Err(Errno::OPNOTSUPP) {
        // A kernel that cannot promise it: look first.
        let mut watched = [PollFd::new(eventfd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if matches!(rustix::event::poll(&mut watched, Some(&now)), Ok(1..)) {
            let _ = rustix::io::read(eventfd, &mut count);
        }
    }
}
