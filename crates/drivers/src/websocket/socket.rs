//! An open socket whose streams send messages and get those that answer them.
//!
//! The first message since the socket's task ran is sent at once; those that follow in the same turn of the worker are sent
//! by the task together, as through an `Outbox`. The task reads messages and hands each to the stream that waits for it;
//! what nobody waits for is counted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use futures_util::{SinkExt, StreamExt};
use record::FailureKind;
use tokio_websockets::{ClientBuilder, Limits, Message, WebSocketStream};

use super::MESSAGE_LIMIT;
use super::correlation::{Correlation, Reading, Wanted};
use super::failure::Failure;
use super::prefixed::Prefixed;

/// Bytes that may wait to be sent before the socket takes no more streams.
const UNSENT_LIMIT: usize = 16 << 20;
/// Answers that may be due for messages that were given up before the socket takes no more streams.
const SKIPPED_LIMIT: usize = 1000;
/// Bytes of messages that are taken in one turn, each as if it had so many more.
const TURN_LIMIT: usize = 1 << 20;
const MESSAGE_COST: usize = 1 << 10;
/// Pings that may wait for their pong to be sent.
const PINGS_LIMIT: usize = 1000;
/// What a close frame without a code means (RFC 6455 section 7.4.1).
const NO_CODE: u16 = 1005;

/// A socket, which its streams share.
#[derive(Debug)]
pub struct Socket {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    frames: WebSocketStream<Prefixed>,
    /// Whether a stream sent since the task ran.
    has_sent: bool,
    /// Bytes of messages since everything was sent.
    unsent: usize,
    /// Pings since everything was sent.
    pings: usize,
    /// The slots whose answer is due, the oldest message first; none if the operation was given up and the next message
    /// would have been its answer.
    due: VecDeque<Option<usize>>,
    slots: Vec<Slot>,
    /// Wakes the socket's task.
    task: Option<Waker>,
    ended: Option<Failure>,
    /// Messages that answered nothing.
    unasked: u64,
}

/// What a stream waits for.
#[derive(Debug, Default)]
struct Slot {
    is_taken: bool,
    is_waiting: bool,
    correlation: Arc<Correlation>,
    wanted: Wanted,
    done: Option<u64>,
    answer: Vec<u8>,
    waker: Option<Waker>,
}

/// A message whose answer is due; dropping it gives the operation up.
#[derive(Debug)]
pub struct Waiting<'a> {
    socket: &'a Socket,
    slot: usize,
}

impl Socket {
    /// A socket over this stream, after its handshake.
    pub fn new(stream: Prefixed) -> Rc<Self> {
        let limits = Limits::default().max_payload_len(Some(MESSAGE_LIMIT));
        let state = State {
            frames: ClientBuilder::new().limits(limits).take_over(stream),
            has_sent: false,
            unsent: 0,
            pings: 0,
            due: VecDeque::new(),
            slots: Vec::new(),
            task: None,
            ended: None,
            unasked: 0,
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
        self.state.borrow_mut().slots[slot] = Slot::default();
    }

    /// Whether it carries further streams.
    pub fn is_usable(&self) -> bool {
        let state = self.state.borrow();
        let skipped = || state.due.iter().filter(|slot| slot.is_none()).count();
        state.ended.is_none() && state.unsent < UNSENT_LIMIT && skipped() < SKIPPED_LIMIT
    }

    /// How many messages came since this was asked that answered nothing.
    pub fn take_unasked(&self) -> u64 {
        mem::take(&mut self.state.borrow_mut().unasked)
    }

    /// Sends a message from this slot, whose answer has what is wanted; `wanted` is swapped for other memory.
    ///
    /// Errors: how the socket has ended
    pub fn send(
        &self,
        slot: usize,
        message: Message,
        correlation: &Arc<Correlation>,
        wanted: &mut Wanted,
    ) -> Result<Waiting<'_>, Failure> {
        let mut state = self.state.borrow_mut();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        state.unsent += message.as_payload().len();
        state.due.push_back(Some(slot));
        let one = &mut state.slots[slot];
        (one.is_waiting, one.done) = (true, None);
        one.correlation.clone_from(correlation);
        mem::swap(&mut one.wanted, wanted);
        // The task hears from the transport when it takes the rest.
        let task = state.task.clone().unwrap_or_else(|| Waker::noop().clone());
        let sent = state.frames.start_send_unpin(message);
        let context = &mut Context::from_waker(&task);
        let is_left = mem::replace(&mut state.has_sent, true);
        if is_left || sent.is_err() || matches!(state.poll_flush(context), Poll::Ready(Err(_))) {
            // The task sends it, or reads what the server said before it went away.
            task.wake();
        }
        Ok(Waiting { socket: self, slot })
    }

    /// Sends and reads until the socket has ended; `now` reads the trial's clock.
    pub fn poll_run(&self, context: &mut Context<'_>, now: &impl Fn() -> u64) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        match &mut state.task {
            Some(task) => task.clone_from(context.waker()),
            None => state.task = Some(context.waker().clone()),
        }
        state.has_sent = false;
        if state.unsent > 0 {
            // If it fails, what the server said before it went away is read below.
            let _ = state.poll_flush(context);
        }
        let mut budget = TURN_LIMIT;
        while state.ended.is_none() {
            if budget == 0 {
                // Time-outs and the end of the trial come between.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let next = ready!(state.frames.poll_next_unpin(context));
            let length = next.as_ref().and_then(|next| next.as_ref().ok());
            let length = length.map_or(0, |message| message.as_payload().len());
            budget = budget.saturating_sub(MESSAGE_COST + length);
            if let Err(failure) = state.receive(next, now, context) {
                state.end(failure, context);
            }
        }
        state.task = None;
        Poll::Ready(())
    }

    /// Resolves when the socket has ended.
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
    /// When the answer came, whose bytes are put into `answer`.
    ///
    /// Errors: how the socket has ended
    pub fn poll(
        &self,
        context: &mut Context<'_>,
        answer: &mut Vec<u8>,
    ) -> Poll<Result<u64, Failure>> {
        let mut state = self.socket.state.borrow_mut();
        let State { slots, ended, .. } = &mut *state;
        let slot = &mut slots[self.slot];
        if let Some(read_at) = slot.done.take() {
            slot.is_waiting = false;
            mem::swap(answer, &mut slot.answer);
            return Poll::Ready(Ok(read_at));
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
        let mut state = self.socket.state.borrow_mut();
        let State { slots, due, .. } = &mut *state;
        let slot = &mut slots[self.slot];
        if !mem::take(&mut slot.is_waiting) {
            return;
        }
        slot.done = None;
        let Some(at) = due.iter().position(|slot| *slot == Some(self.slot)) else { return };
        match slot.correlation.is_next() {
            true => due[at] = None,
            // Its answer is told from others when it comes.
            false => drop(due.remove(at)),
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
    fn poll_flush(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), tokio_websockets::Error>> {
        ready!(self.frames.poll_flush_unpin(context))?;
        (self.unsent, self.pings) = (0, 0);
        Poll::Ready(Ok(()))
    }

    /// Takes what was read.
    ///
    /// Errors: why the socket ends
    fn receive(
        &mut self,
        next: Option<Result<Message, tokio_websockets::Error>>,
        now: &impl Fn() -> u64,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let Some(message) = next else {
            let detail = "the peer closed the connection without closing the socket";
            return Err(Failure::new(FailureKind::Closed, detail));
        };
        let message = message?;
        if message.is_text() || message.is_binary() {
            self.hand_over(message.as_payload(), now());
        } else if message.is_ping() {
            self.pings += 1;
            if let Poll::Ready(sent) = self.poll_flush(context) {
                sent?;
            } else if self.pings > PINGS_LIMIT {
                let detail = format!("the peer sent {PINGS_LIMIT} pings and read no pong");
                return Err(Failure::new(FailureKind::Malformed, detail));
            }
        } else if message.is_close() {
            let (code, reason) =
                message.as_close().map_or((NO_CODE, ""), |(code, why)| (code.into(), why));
            return Err(Failure::closed(code, reason));
        }
        Ok(())
    }

    /// Hands a message to the stream that waits for it: one that knows its answer, or else the one that takes the next.
    fn hand_over(&mut self, message: &[u8], read_at: u64) {
        let Self { due, slots, .. } = self;
        // Operations of one kind wait for the same places, which are read once.
        let mut read: Option<(&Arc<Correlation>, Reading<'_>)> = None;
        let is_its = |slot: &Option<usize>| {
            let Some(slot) = *slot else { return false };
            let Slot { correlation, wanted, .. } = &slots[slot];
            if correlation.is_next() {
                return false;
            }
            let known = read.take().filter(|(of, _)| Arc::ptr_eq(of, correlation));
            let known = known.unwrap_or_else(|| (correlation, correlation.read(message)));
            let is_answer = correlation.is_answer(&known.1, wanted);
            read = Some(known);
            is_answer
        };
        let takes_next =
            |slot: &Option<usize>| slot.is_none_or(|slot| slots[slot].correlation.is_next());
        let at = due.iter().position(is_its).or_else(|| due.iter().position(takes_next));
        let Some(slot) = at.and_then(|at| due.remove(at)) else {
            self.unasked += 1;
            return;
        };
        let Some(slot) = slot.map(|slot| &mut slots[slot]) else { return };
        slot.answer.clear();
        slot.answer.extend_from_slice(message);
        slot.done = Some(read_at);
        slot.wake();
    }

    fn end(&mut self, failure: Failure, context: &mut Context<'_>) {
        // The peer is told why, if it still listens.
        let _ = self.frames.poll_flush_unpin(context);
        self.ended = Some(failure);
        self.slots.iter().for_each(Slot::wake);
    }
}

#[cfg(test)]
mod tests {
    use engine::transport::Stream;

    use super::*;

    #[test]
    fn a_flood_of_messages_leaves_the_worker_its_turns() {
        const MESSAGES: u64 = 3_000;
        let flood = b"\x81\x01x".repeat(MESSAGES as usize);
        let (near, _far) = tokio::io::duplex(64);
        let socket = Socket::new(Prefixed::new(flood, Stream::Memory(near)));
        let turn = || {
            let context = &mut Context::from_waker(Waker::noop());
            assert!(socket.poll_run(context, &|| 0).is_pending());
            socket.take_unasked()
        };
        let turns: Vec<u64> = std::iter::repeat_with(turn).take_while(|taken| *taken > 0).collect();
        assert_eq!(turns.iter().sum::<u64>(), MESSAGES);
        let most = (TURN_LIMIT / MESSAGE_COST) as u64;
        assert!(turns.len() > 1 && turns.iter().all(|taken| *taken <= most), "{turns:?}");
    }
}
