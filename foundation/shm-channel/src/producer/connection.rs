//! One client as its worker sees it: its two regions, and how far it has been answered.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::time::{ClockId, clock_gettime};

use super::answer_buffer::{AnswerBuffer, Reply, Tags};
use super::{SharedCounts, signal};
use crate::layout::{CLIENT_SLEEPS, RING};
use crate::region::{Futex, Mapping};
use crate::ring::{self, Entry, Look, Message};
use crate::sleep::{self, Park};
use crate::{Checksum, Geometry};

/// How a completion says that an exchange ended.
pub(crate) const ANSWERED: u32 = 0;
/// The answer needs `length` bytes.
pub(crate) const TOO_LARGE: u32 = 1;
/// The handler refused; its number is in `length`.
pub(crate) const REFUSED: u32 = 2;

/// What a submission says where it asks for the producer's times.
pub(crate) const TIMED: u64 = 1;

/// A client's memory and descriptors; all of it goes when this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    pub number: u64,
    /// Kept open: its end is how the client learns of ours.
    pub _socket: Arc<OwnedFd>,
    pub eventfd: Arc<OwnedFd>,
    pub requests: Mapping,
    pub answers: Mapping,
    pub geometry: Geometry,
    pub tags: Tags,
    /// Number of the next submission, and of the completion that answers it.
    pub next: u32,
    pub _permit: ClientPermit,
}

/// One of the clients that there may be at once; given back when dropped.
#[derive(Debug)]
pub(super) struct ClientPermit(Arc<SharedCounts>);

impl ClientPermit {
    pub(super) fn take(counts: Arc<SharedCounts>) -> Self {
        counts.living.fetch_add(1, Ordering::Relaxed);
        Self(counts)
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Nanoseconds on CLOCK_MONOTONIC if they are wanted, and otherwise 0.
fn clock(is_wanted: bool) -> u64 {
    if !is_wanted {
        return 0;
    }
    let now = clock_gettime(ClockId::Monotonic);
    // It counts from the start of the machine: both fields are never negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// A submission that holds together.
struct Submission {
    message: Message,
    slots: u32,
}

impl Connection {
    /// Whether there is something to do: a submission, or damage.
    pub(super) fn is_ready(&self) -> bool {
        !matches!(ring::look(self.submissions(), self.next), Look::NotYet(_))
    }

    /// Answers the next submission; whether there was one.
    ///
    /// Errors: which part of what the client wrote is invalid
    pub(super) fn serve(
        &mut self,
        request: &mut Vec<u8>,
        handler: &mut impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply,
    ) -> Result<bool, &'static str> {
        let message = match ring::look(self.submissions(), self.next) {
            Look::NotYet(_) => return Ok(false),
            Look::Damaged => return Err("the stamp of a submission"),
            Look::Ready(message) => message,
        };
        let is_timed = message.times[0] & TIMED != 0;
        let taken_at = clock(is_timed);
        let Submission { message, slots } = self.check(message)?;
        self.requests.copy_out(self.geometry.request_at(message.slot), message.length, request);
        let mut completion = self.answer(message, slots, request, handler);
        completion.times = [taken_at, clock(is_timed)];
        ring::put(self.completions(), self.next, &completion);
        self.wake();
        self.next = self.next.wrapping_add(1);
        Ok(true)
    }

    fn check(&self, message: Message) -> Result<Submission, &'static str> {
        let slots = message.code;
        if !self.geometry.holds(message.slot, slots) {
            return Err("the slots of a submission");
        }
        if message.length > self.geometry.request_room() * u64::from(slots) {
            return Err("the length of a submission");
        }
        Ok(Submission { message, slots })
    }

    #[expect(unsafe_code, reason = "answers are written in place")]
    fn answer(
        &mut self,
        message: Message,
        slots: u32,
        request: &[u8],
        handler: &mut impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply,
    ) -> Message {
        let length = self.geometry.answer_room() * u64::from(slots);
        let at = self.geometry.answer_at(message.slot);
        // SAFETY: the region was sealed after it was mapped here, so that no other mapping can be
        // written through; this worker alone has the connection, and lends one buffer at a time.
        let bytes = unsafe { self.answers.bytes_mut(at, length) };
        let tag = self.tags.begin(message.slot, slots);
        let mut buffer = AnswerBuffer { bytes, tag, new_tag: None, checksum: None };
        let (code, length) = match handler(request, &mut buffer) {
            Reply::Answer(length) if length <= buffer.len() => (ANSWERED, length as u64),
            Reply::Answer(length) | Reply::TooLarge(length) => (TOO_LARGE, length as u64),
            Reply::Refused(number) => (REFUSED, number),
        };
        let checksum = buffer.checksum.unwrap_or(Checksum { kind: 0, value: 0 });
        self.tags.end(message.slot, slots, buffer.new_tag);
        let (kind, checksum) = (checksum.kind, checksum.value);
        Message { length, code, kind, checksum, ..message }
    }

    /// Wakes the client if it sleeps.
    fn wake(&self) {
        match sleep::heard(self.requests.word(CLIENT_SLEEPS)) {
            sleep::AWAKE => {}
            sleep::ON_EVENTFD => signal(&self.eventfd),
            _ => {
                let futex = Futex { nap: std::time::Duration::ZERO };
                futex.unpark(ring::stamp(self.completions(), self.next));
            }
        }
    }

    fn submissions(&self) -> &[Entry] {
        self.requests.entries(RING, self.geometry.slots())
    }

    fn completions(&self) -> &[Entry] {
        self.answers.entries(RING, self.geometry.slots())
    }
}
