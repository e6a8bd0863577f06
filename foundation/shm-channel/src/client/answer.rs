//! An answer, read where it lies.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::region::Mapping;
use crate::ring::Message;
use crate::slots::Slots;
use crate::{Checksum, Geometry};

/// What a client shares with its answers: memory, and which of it is free.
#[derive(Debug)]
pub(super) struct Held {
    pub answers: Mapping,
    pub slots: Slots,
}

/// An answer in shared memory: derefs to its bytes, and gives its slots back when dropped.
///
/// It may outlive its [`Client`](crate::Client), be sent to another thread, and be read after the
/// producer's end. The bytes stand still as long as the producer keeps to the layout, which lends
/// a slot to one exchange at a time. Of a process that does not, nothing that is read twice can be
/// relied on, such as text, which is checked before it is used: [copy](Answer::copy_to) it first.
pub struct Answer {
    held: Arc<Held>,
    slot: u32,
    slots: u32,
    at: u64,
    length: u64,
    checksum: Option<Checksum>,
    times: Option<Times>,
}

/// When the producer did what, where the client [asked](crate::Client::ask_for_times).
///
/// Nanoseconds on CLOCK_MONOTONIC, which all processes of a machine share unless they live in time
/// namespaces of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Its worker had found the request.
    pub taken_at: u64,
    /// Its handler had made the answer.
    pub ready_at: u64,
}

impl Answer {
    /// The answer of which a completion tells, the length of which was checked.
    pub(super) fn new(held: Arc<Held>, shape: Geometry, message: &Message, slots: u32) -> Self {
        let Message { slot, length, kind, checksum, times: [taken_at, ready_at], .. } = *message;
        let checksum = (kind != 0).then_some(Checksum { kind, value: checksum });
        // A producer that does not know the wish leaves zeros.
        let times = (ready_at != 0).then_some(Times { taken_at, ready_at });
        Self { held, slot, slots, at: shape.answer_at(slot), length, checksum, times }
    }

    /// A copy of its bytes, which no other process changes. If a producer writes meanwhile, against the layout, the copy
    /// may hold any mixture.
    pub fn copy_to(&self, into: &mut Vec<u8>) {
        self.held.answers.copy_out(self.at, self.length, into);
    }

    /// Takes its memory out of this process, as far as pages belong to it alone; the next look brings it back.
    pub fn unload(&self) {
        self.held.answers.unload(self.at, self.length);
    }

    /// The checksum that the handler sent along.
    pub fn checksum(&self) -> Option<Checksum> {
        self.checksum
    }

    /// What the producer says of its times, where it was asked.
    pub fn times(&self) -> Option<Times> {
        self.times
    }
}

impl Deref for Answer {
    type Target = [u8];

    #[expect(unsafe_code, reason = "answers are read in place")]
    fn deref(&self) -> &[u8] {
        // SAFETY: the producer writes to a slot only between a submission that lends it and the
        // completion of that, and the slot is not lent again before this answer is dropped.
        unsafe { self.held.answers.bytes(self.at, self.length) }
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Answer of {} bytes in slot {}", self.length, self.slot)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.held.slots.give(self.slot, self.slots);
    }
}
