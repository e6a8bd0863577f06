//! A connection whose streams send commands and get the replies in the order of the commands.
//!
//! Commands leave through an `Outbox`. The connection's task writes what waits there, reads the replies and hands each to
//! the stream whose command is the oldest without one. The reply to an operation that was given up is read and skipped.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use engine::transport::Stream;
use record::FailureKind;
use tokio::io::{AsyncRead, ReadBuf};

use super::codec::reply::{Kind, Progress, REPLY_LIMIT};
use super::failure::Failure;
use crate::outbox::Outbox;

/// Room for what a server usually sends; it grows up to the longest reply.
const USUAL: usize = 16 << 10;
/// Bytes that may wait to be sent before the connection takes no more streams.
const UNSENT_LIMIT: usize = 16 << 20;
/// Replies that may be due for operations that were given up before the connection takes no more streams.
const GIVEN_UP_LIMIT: usize = 1000;

/// A connection, which its streams share.
#[derive(Debug)]
pub struct Connection {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    stream: Stream,
    outbox: Outbox,
    buffer: Vec<u8>,
    filled: usize,
    progress: Progress,
    /// The oldest first.
    due: VecDeque<Due>,
    /// How many of them were given up.
    given_up: usize,
    slots: Vec<Slot>,
    /// Wakes the connection's task.
    task: Option<Waker>,
    ended: Option<Failure>,
    /// Messages that no command asked for.
    pushes: u64,
}

/// A reply that is due.
#[derive(Debug)]
struct Due {
    /// The slot of its stream; none if the operation was given up.
    slot: Option<usize>,
    first_byte_at: Option<u64>,
}

/// What a stream waits for.
#[derive(Debug, Default)]
struct Slot {
    is_taken: bool,
    is_waiting: bool,
    done: Option<Arrival>,
    reply: Vec<u8>,
    waker: Option<Waker>,
}

/// When a reply arrived, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When its first byte was read.
    pub first_byte_at: u64,
    /// When its last byte was read.
    pub read_at: u64,
    /// Its bytes.
    pub length: usize,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A command under way; dropping it gives the operation up.
#[derive(Debug)]
pub struct Waiting<'a> {
    connection: &'a Connection,
    slot: usize,
}

impl Connection {
    /// A connection over this stream.
    pub fn new(stream: Stream) -> Rc<Self> {
        let state = State {
            stream,
            outbox: Outbox::default(),
            buffer: vec![0; USUAL],
            filled: 0,
            progress: Progress::default(),
            due: VecDeque::new(),
            given_up: 0,
            slots: Vec::new(),
            task: None,
            ended: None,
            pushes: 0,
        };
        Rc::new(Self { state: RefCell::new(state) })
    }

    /// A slot for one more stream.
    pub fn take_slot(&self) -> usize {
        let slots = &mut self.state.borrow_mut().slots;
        let free = slots.iter().position(|slot| !slot.is_taken).unwrap_or(slots.len());
        if free == slots.len() {
            slots.push(Slot::default());
        }
        slots[free].is_taken = true;
        free
    }

    /// The end of a stream.
    pub fn release_slot(&self, slot: usize) {
        let slot = &mut self.state.borrow_mut().slots[slot];
        *slot = Slot { reply: mem::take(&mut slot.reply), ..Slot::default() };
    }

    /// Whether it carries further streams.
    pub fn is_usable(&self) -> bool {
        let state = self.state.borrow();
        state.ended.is_none()
            && state.outbox.len() < UNSENT_LIMIT
            && state.given_up < GIVEN_UP_LIMIT
    }

    /// How many messages came that no command asked for.
    pub fn pushes(&self) -> u64 {
        self.state.borrow().pushes
    }

    /// Sends a command from this slot.
    ///
    /// Errors: how the connection has ended
    pub fn send(&self, slot: usize, command: &[u8]) -> Result<Waiting<'_>, Failure> {
        let mut state = self.state.borrow_mut();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let State { outbox, stream, task, .. } = &mut *state;
        outbox.push(command);
        outbox.flush(stream, task.as_ref());
        state.due.push_back(Due { slot: Some(slot), first_byte_at: None });
        let one = &mut state.slots[slot];
        (one.is_waiting, one.done) = (true, None);
        Ok(Waiting { connection: self, slot })
    }

    /// Writes and reads until the connection has ended; `now` reads the trial's clock.
    pub fn poll_run(&self, context: &mut Context<'_>, now: &impl Fn() -> u64) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        match &mut state.task {
            Some(task) => task.clone_from(context.waker()),
            None => state.task = Some(context.waker().clone()),
        }
        let mut replies = 0;
        while state.ended.is_none() {
            let State { outbox, stream, .. } = &mut *state;
            outbox.turn(replies);
            if let Poll::Ready(Err(error)) = outbox.poll_write(stream, context) {
                // What the server said before it went away is read below.
                outbox.clear();
                if state.due.is_empty() {
                    state.end(error.into());
                    break;
                }
            }
            let due = state.due.len();
            let read = ready!(state.poll_read(context));
            if let Err(failure) = state.receive(read, now()) {
                state.end(failure);
            }
            replies += due - state.due.len();
        }
        state.task = None;
        Poll::Ready(())
    }

    /// Resolves when the connection has ended.
    pub async fn end(&self, slot: usize) {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.ended.is_some() {
                return Poll::Ready(());
            }
            state.slots[slot].sleep(context);
            Poll::Pending
        })
        .await;
    }
}

impl Waiting<'_> {
    /// The reply, whose bytes are put into `reply`.
    ///
    /// Errors: how the connection has ended
    pub fn poll(
        &self,
        context: &mut Context<'_>,
        reply: &mut Vec<u8>,
    ) -> Poll<Result<Arrival, Failure>> {
        let mut state = self.connection.state.borrow_mut();
        let State { slots, ended, .. } = &mut *state;
        let slot = &mut slots[self.slot];
        if let Some(done) = slot.done.take() {
            slot.is_waiting = false;
            mem::swap(reply, &mut slot.reply);
            return Poll::Ready(Ok(done));
        }
        if let Some(ended) = ended {
            return Poll::Ready(Err(ended.clone()));
        }
        slot.sleep(context);
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.connection.state.borrow_mut();
        if mem::take(&mut state.slots[self.slot].is_waiting) {
            state.slots[self.slot].done = None;
            if let Some(due) = state.due.iter_mut().find(|due| due.slot == Some(self.slot)) {
                due.slot = None;
                state.given_up += 1;
            }
        }
    }
}

impl Slot {
    fn sleep(&mut self, context: &Context<'_>) {
        match &mut self.waker {
            Some(known) => known.clone_from(context.waker()),
            None => self.waker = Some(context.waker().clone()),
        }
    }

    fn wake(&self) {
        self.waker.iter().for_each(Waker::wake_by_ref);
    }
}

impl State {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        if self.filled == self.buffer.len() {
            // Beyond the longest reply there is only what makes it too long.
            let length = (2 * self.buffer.len()).min(2 * REPLY_LIMIT);
            self.buffer.resize(length, 0);
        }
        let mut buffer = ReadBuf::new(&mut self.buffer[self.filled..]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Takes what was read at this time, and hands over the replies that are complete.
    ///
    /// Errors: why the connection ends
    fn receive(&mut self, read: std::io::Result<usize>, now: u64) -> Result<(), Failure> {
        let read = read?;
        if read == 0 {
            let detail = match self.filled {
                0 => "the peer closed the connection".to_owned(),
                some => format!("the peer closed the connection after {some} bytes of a reply"),
            };
            return Err(Failure::new(FailureKind::Closed, detail));
        }
        self.filled += read;
        let mut taken = 0;
        let outcome = loop {
            if taken < self.filled
                && let Some(due) = self.due.front_mut()
            {
                due.first_byte_at.get_or_insert(now);
            }
            match self.progress.read(&self.buffer[taken..self.filled]) {
                Ok(Some((kind, length))) => {
                    if kind == Kind::Push {
                        self.pushes += 1;
                        // Its bytes are no reply's.
                        self.due.front_mut().into_iter().for_each(|due| due.first_byte_at = None);
                    } else if !self.hand_over(taken, length, kind, now) {
                        let detail = "a reply came that no command was waiting for";
                        break Err(Failure::new(FailureKind::Malformed, detail));
                    }
                    taken += length;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        self.buffer.copy_within(taken..self.filled, 0);
        self.filled -= taken;
        if self.filled == 0 && self.buffer.len() > USUAL << 6 {
            self.buffer.truncate(USUAL);
            self.buffer.shrink_to_fit();
        }
        outcome
    }

    /// Hands a reply to the stream whose command is the oldest; false if there is none.
    fn hand_over(&mut self, at: usize, length: usize, kind: Kind, now: u64) -> bool {
        let Some(due) = self.due.pop_front() else { return false };
        let Some(slot) = due.slot.map(|slot| &mut self.slots[slot]) else {
            self.given_up -= 1;
            return true;
        };
        slot.reply.clear();
        slot.reply.extend_from_slice(&self.buffer[at..at + length]);
        slot.done = Some(Arrival {
            first_byte_at: due.first_byte_at.unwrap_or(now),
            read_at: now,
            length,
            is_error: kind == Kind::Error,
        });
        slot.wake();
        true
    }

    fn end(&mut self, failure: Failure) {
        self.ended = Some(failure);
        self.outbox.clear();
        self.slots.iter().for_each(Slot::wake);
        self.task.iter().for_each(Waker::wake_by_ref);
    }
}
