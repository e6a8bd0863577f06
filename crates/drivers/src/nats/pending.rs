//! What the streams of a connection wait for, and which answer belongs to which of them.
//!
//! A publication ends with the `PONG` to the first `PING` behind it; these come in order, and publications that leave
//! together share one. A request ends with the message whose subject holds its token.

use std::collections::VecDeque;
use std::mem;
use std::task::{Context, Waker};

use super::codec::command::number;
use super::codec::frame::{Message, digits};
use super::codec::server_error;
use super::connection::Sending;
use super::failure::Failure;
pub use super::input::Arrival;

/// The subscription for replies.
pub const INBOX_SID: u64 = 1;

/// What ends an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The `PONG` to the `PING` behind it.
    Pong,
    /// A message to its inbox.
    Reply,
}

/// What all streams of a connection wait for.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// One for each publication, the oldest first.
    due: VecDeque<DuePong>,
    /// How many of them were given up.
    given_up: usize,
    slots: Vec<Slot>,
    tokens: u64,
    unasked: u64,
}

#[derive(Debug)]
struct DuePong {
    /// The slot of its stream; none if the operation was given up.
    slot: Option<usize>,
    /// What the server said of it.
    refusal: Option<Failure>,
    /// How many of its messages the server has not refused.
    messages: usize,
    /// Whether a `PING` was sent right behind it.
    has_ping: bool,
}

/// What one stream waits for.
#[derive(Debug, Default)]
struct Slot {
    is_taken: bool,
    waits_for: Option<Ending>,
    /// Grows from operation to operation of the connection.
    token: u64,
    subject: Vec<u8>,
    done: Option<Result<Answer, Failure>>,
    reply: Vec<u8>,
    waker: Option<Waker>,
}

/// What ended an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When it arrived.
    pub arrival: Arrival,
    /// Bytes of headers before the payload.
    pub headers: usize,
}

impl Pending {
    pub(super) fn take_slot(&mut self) -> usize {
        let slots = &mut self.slots;
        let free = slots.iter().position(|slot| !slot.is_taken).unwrap_or(slots.len());
        if free == slots.len() {
            slots.push(Slot::default());
        }
        slots[free].is_taken = true;
        free
    }

    pub(super) fn release_slot(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        let (reply, subject) = (mem::take(&mut slot.reply), mem::take(&mut slot.subject));
        *slot = Slot { reply, subject, ..Slot::default() };
    }

    /// A new token for this slot, written as the last word of its inbox.
    pub(super) fn token(&mut self, slot: usize, out: &mut Vec<u8>) {
        self.tokens += 1;
        self.slots[slot].token = self.tokens;
        number(slot as u64, out);
        out.push(b'-');
        number(self.tokens, out);
    }

    pub(super) fn begin(&mut self, slot: usize, sending: Sending<'_>) {
        let Sending { messages, .. } = sending;
        if sending.ending == Ending::Pong {
            let due = DuePong { slot: Some(slot), refusal: None, messages, has_ping: false };
            self.due.push_back(due);
        }
        let slot = &mut self.slots[slot];
        slot.subject.clear();
        slot.subject.extend_from_slice(sending.subject);
        (slot.waits_for, slot.done) = (Some(sending.ending), None);
    }

    /// Gives an operation up, if it has not ended.
    pub(super) fn give_up(&mut self, slot: usize) {
        let own = &mut self.slots[slot];
        own.done = None;
        if own.waits_for.take() == Some(Ending::Pong)
            && let Some(due) = self.due.iter_mut().find(|due| due.slot == Some(slot))
        {
            due.slot = None;
            self.given_up += 1;
        }
    }

    /// How an operation has ended, its reply put into `reply`.
    pub(super) fn take_done(
        &mut self,
        slot: usize,
        reply: &mut Vec<u8>,
    ) -> Option<Result<Answer, Failure>> {
        let slot = &mut self.slots[slot];
        let done = slot.done.take()?;
        mem::swap(reply, &mut slot.reply);
        Some(done)
    }

    /// A `PING` was sent behind all publications so far.
    pub(super) fn ping(&mut self) {
        self.due.back_mut().into_iter().for_each(|due| due.has_ping = true);
    }

    /// How many publications are ahead of the next `PONG`.
    fn answered(&self) -> usize {
        self.due.iter().position(|due| due.has_ping).map_or(0, |last| last + 1)
    }

    /// A `PONG`, and how many publications end with it; none if no `PONG` is due.
    pub(super) fn pong(&mut self, arrival: Arrival) -> usize {
        let answered = self.answered();
        // Publications share it, so that it is in the size of none.
        let arrival = Arrival { length: 0, ..arrival };
        for due in self.due.drain(..answered) {
            let Some(slot) = due.slot.map(|slot| &mut self.slots[slot]) else {
                self.given_up -= 1;
                continue;
            };
            slot.reply.clear();
            slot.finish(due.refusal.map_or(Ok(Answer { arrival, headers: 0 }), Err));
        }
        answered
    }

    /// A message; one that no operation waits for is skipped.
    pub(super) fn message(&mut self, inbox: &[u8], message: &Message<'_>, arrival: Arrival) {
        let token = message.subject.strip_prefix(inbox).and_then(parse_token);
        let Some((slot, token)) = token.filter(|_| message.sid == INBOX_SID) else {
            self.unasked += 1;
            return;
        };
        // The reply to an operation that was given up, or a second one, finds no one waiting.
        let slot = self.slots.get_mut(slot);
        let waits = |slot: &&mut Slot| slot.token == token && slot.waits_for == Some(Ending::Reply);
        let Some(slot) = slot.filter(waits) else { return };
        slot.reply.clear();
        slot.reply.extend_from_slice(message.headers);
        slot.reply.extend_from_slice(message.payload);
        slot.finish(Ok(Answer { arrival, headers: message.headers.len() }));
    }

    /// An error that the connection survives: it belongs to the oldest operation with the subject that it names.
    pub(super) fn refuse(&mut self, error: &[u8]) {
        let failure = Failure::refusal(error);
        let subject = server_error::subject(error);
        let answered = self.answered();
        // The introduction of a connection has no subject, and is meant by every error.
        let names = |slot: &Slot| {
            slot.subject.is_empty() || subject.is_none_or(|subject| subject == slot.subject)
        };
        // The error for a publication comes before its `PONG`, and after those of earlier ones.
        let is_meant = |due: &DuePong| {
            due.messages > 0 && due.slot.is_some_and(|slot| names(&self.slots[slot]))
        };
        if let Some(due) = self.due.iter_mut().take(answered).find(|due| is_meant(due)) {
            due.messages -= 1;
            due.refusal.get_or_insert(failure);
            return;
        }
        // One that was given up no longer has its subject.
        let is_unnamed = |due: &&mut DuePong| subject.is_none() || due.slot.is_none();
        let requests = self.slots.iter_mut().filter(|slot| slot.waits_for == Some(Ending::Reply));
        if let Some(slot) = requests.filter(|slot| names(slot)).min_by_key(|slot| slot.token) {
            slot.finish(Err(failure));
        } else if let Some(due) = self.due.iter_mut().take(answered).find(is_unnamed) {
            due.refusal.get_or_insert(failure);
        } else {
            self.unasked += 1;
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.slots.iter().any(|slot| slot.waits_for.is_some())
    }

    /// How many `PONG`s are due for operations that were given up.
    pub(super) fn given_up(&self) -> usize {
        self.given_up
    }

    /// Messages and errors that no operation asked for.
    pub(super) fn unasked(&self) -> u64 {
        self.unasked
    }

    pub(super) fn sleep(&mut self, slot: usize, context: &Context<'_>) {
        match &mut self.slots[slot].waker {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    pub(super) fn wake_all(&self) {
        self.slots.iter().for_each(Slot::wake);
    }
}

impl Slot {
    fn finish(&mut self, done: Result<Answer, Failure>) {
        (self.waits_for, self.done) = (None, Some(done));
        self.wake();
    }

    fn wake(&self) {
        self.waker.iter().for_each(Waker::wake_by_ref);
    }
}

/// Slot and token from the last word of a subject.
fn parse_token(word: &[u8]) -> Option<(usize, u64)> {
    let at = memchr::memchr(b'-', word)?;
    let slot = usize::try_from(digits(&word[..at])?).ok()?;
    Some((slot, digits(&word[at + 1..])?))
}
