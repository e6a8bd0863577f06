//! A connection, which its streams share.
//!
//! Operations leave through an `Outbox`. The connection's task writes what waits there, reads what the server sends,
//! answers its `PING`s, and hands each answer to the stream that waits for it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use engine::transport::Stream;
use record::FailureKind;

use super::codec::command::{PING, PONG};
use super::codec::frame::Frame;
use super::codec::info::Info;
use super::codec::server_error;
use super::failure::Failure;
use super::input::Input;
use super::pending::{Answer, Ending, Pending};
use crate::outbox::Outbox;

/// Bytes that may wait to be sent before the connection takes no more streams.
const UNSENT_LIMIT: usize = 16 << 20;
/// Answers that may be due for operations that were given up before the connection takes no more streams.
const GIVEN_UP_LIMIT: usize = 1000;
/// Answers to `PING`s that may wait for a server that does not read them.
const OWED_LIMIT: usize = 100_000;

/// A connection, which its streams share.
#[derive(Debug)]
pub struct Connection {
    state: RefCell<State>,
    /// The subject of replies, without the last word.
    inbox: Vec<u8>,
}

#[derive(Debug)]
struct State {
    stream: Stream,
    outbox: Outbox,
    input: Input,
    pending: Pending,
    info: Info,
    /// Why there are no replies, if the server refused the subscription for them.
    no_inbox: Option<Failure>,
    /// Answers to `PING`s that were not written yet.
    owed: usize,
    /// Whether publications wait for a `PING` behind them.
    lacks_ping: bool,
    /// Wakes the connection's task.
    task: Option<Waker>,
    ended: Option<Failure>,
}

/// An operation, ready to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// Its bytes, without the `PING` behind a publication.
    pub command: &'a [u8],
    /// How many messages they are.
    pub messages: usize,
    /// Where it is published to.
    pub subject: &'a [u8],
    /// What ends it.
    pub ending: Ending,
}

/// An operation under way; dropping it gives the operation up.
#[derive(Debug)]
pub struct Waiting<'a> {
    connection: &'a Connection,
    slot: usize,
}

impl Connection {
    /// A connection over this stream, of which `input` was read.
    pub(super) fn new(stream: Stream, input: Input, info: Info, inbox: Vec<u8>) -> Rc<Self> {
        let state = State {
            stream,
            outbox: Outbox::default(),
            input,
            pending: Pending::default(),
            info,
            no_inbox: None,
            owed: 0,
            lacks_ping: false,
            task: None,
            ended: None,
        };
        Rc::new(Self { state: RefCell::new(state), inbox })
    }

    /// A slot for one more stream.
    pub fn take_slot(&self) -> usize {
        self.state.borrow_mut().pending.take_slot()
    }

    /// The end of a stream.
    pub fn release_slot(&self, slot: usize) {
        self.state.borrow_mut().pending.release_slot(slot);
    }

    /// Appends the subject for the reply to the next operation of this slot.
    pub fn reply_to(&self, slot: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.inbox);
        self.state.borrow_mut().pending.token(slot, out);
    }

    /// Whether it carries further streams.
    pub fn is_usable(&self) -> bool {
        let state = self.state.borrow();
        state.ended.is_none()
            && state.outbox.len() < UNSENT_LIMIT
            && state.pending.given_up() < GIVEN_UP_LIMIT
    }

    /// Notes that the server refused the subscription for replies.
    pub fn refuse_inbox(&self, refusal: Failure) {
        self.state.borrow_mut().no_inbox = Some(refusal);
    }

    /// How it has ended, if it has.
    pub fn failure(&self) -> Option<Failure> {
        self.state.borrow().ended.clone()
    }

    /// How many messages and errors came that no operation asked for.
    pub fn unasked(&self) -> u64 {
        self.state.borrow().pending.unasked()
    }

    /// Whether the server takes a message of so many bytes, of them so many of headers.
    ///
    /// Errors: why it does not
    pub fn check(&self, ending: Ending, headers: usize, length: usize) -> Result<(), Failure> {
        let state = self.state.borrow();
        if headers > 0 && !state.info.headers {
            return Err(Failure::status("headers", "the server does not support headers"));
        }
        if let Some(limit) = state.info.max_payload
            && length as u64 > limit
        {
            let detail = format!("{length} bytes are more than max_payload of the server, {limit}");
            return Err(Failure::status("max_payload", detail));
        }
        match &state.no_inbox {
            Some(refusal) if ending == Ending::Reply => Err(refusal.clone()),
            _ => Ok(()),
        }
    }

    /// Sends an operation from this slot.
    ///
    /// Errors: how the connection has ended
    pub fn send(&self, slot: usize, sending: Sending<'_>) -> Result<Waiting<'_>, Failure> {
        let mut state = self.state.borrow_mut();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        state.pending.begin(slot, sending);
        state.outbox.push(sending.command);
        state.lacks_ping |= sending.ending == Ending::Pong;
        if !state.outbox.gathers() {
            state.ping();
        }
        let State { outbox, stream, task, .. } = &mut *state;
        outbox.flush(stream, task.as_ref());
        Ok(Waiting { connection: self, slot })
    }

    /// Writes and reads until the connection has ended; `now` reads the trial's clock.
    pub fn poll_run(&self, context: &mut Context<'_>, now: &impl Fn() -> u64) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        match &mut state.task {
            Some(task) => task.clone_from(context.waker()),
            None => state.task = Some(context.waker().clone()),
        }
        let mut answers = 0;
        while state.ended.is_none() {
            if state.input.unread() > 0 {
                match state.handle(&self.inbox, now()) {
                    Ok(handled) => answers += handled,
                    Err(failure) => {
                        state.end(failure);
                        break;
                    }
                }
            }
            state.outbox.turn(answers);
            state.ping();
            if let Poll::Ready(Err(error)) = state.poll_write(context) {
                // What the server said before it went away is read below.
                state.outbox.clear();
                if !state.pending.is_waiting() {
                    state.end(error.into());
                    break;
                }
            }
            let State { input, stream, .. } = &mut *state;
            if let Err(failure) = ready!(input.poll_read(stream, context)) {
                state.end(failure);
            }
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
            state.pending.sleep(slot, context);
            Poll::Pending
        })
        .await;
    }
}

impl Waiting<'_> {
    /// The answer, whose bytes are put into `reply`.
    ///
    /// Errors: the server's refusal, or how the connection has ended
    pub fn poll(
        &self,
        context: &mut Context<'_>,
        reply: &mut Vec<u8>,
    ) -> Poll<Result<Answer, Failure>> {
        let mut state = self.connection.state.borrow_mut();
        if let Some(done) = state.pending.take_done(self.slot, reply) {
            return Poll::Ready(done);
        }
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(ended.clone()));
        }
        state.pending.sleep(self.slot, context);
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.connection.state.borrow_mut().pending.give_up(self.slot);
    }
}

impl State {
    /// Adds the `PING` that publications wait for; those that leave together share it.
    fn ping(&mut self) {
        if mem::take(&mut self.lacks_ping) {
            self.outbox.push(PING);
            self.pending.ping();
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let written = self.outbox.poll_write(&mut self.stream, context);
        if self.outbox.is_empty() {
            self.owed = 0;
        }
        written
    }

    /// Takes every complete frame that was read at this time; how many operations have ended by them.
    ///
    /// Errors: why the connection ends
    fn handle(&mut self, inbox: &[u8], now: u64) -> Result<usize, Failure> {
        let mut ended = 0;
        let Self { input, pending, info, outbox, owed, .. } = self;
        while let Some((frame, arrival)) = input.next(now)? {
            match frame {
                Frame::Message(message) => {
                    pending.message(inbox, &message, arrival);
                    ended += 1;
                }
                Frame::Pong => match pending.pong(arrival) {
                    0 => {
                        let detail = "the server sent a PONG without a PING";
                        return Err(Failure::new(FailureKind::Malformed, detail));
                    }
                    publications => ended += publications,
                },
                Frame::Ping if *owed == OWED_LIMIT => {
                    let detail = format!("the server sent {OWED_LIMIT} PINGs and reads no PONG");
                    return Err(Failure::new(FailureKind::TooLarge, detail));
                }
                Frame::Ping => {
                    *owed += 1;
                    outbox.push(PONG);
                }
                Frame::Info(json) => *info = Info::parse(json)?,
                Frame::Error(error) if server_error::is_final(error) => {
                    return Err(Failure::refusal(error));
                }
                Frame::Error(error) => pending.refuse(error),
                Frame::Ok => {}
            }
        }
        Ok(ended)
    }

    fn end(&mut self, failure: Failure) {
        self.ended = Some(failure);
        self.outbox.clear();
        self.pending.wake_all();
        self.task.iter().for_each(Waker::wake_by_ref);
    }
}
