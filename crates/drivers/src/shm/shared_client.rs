//! A client of the channel that the streams of a connection share, and how they are woken.
//!
//! All completions come in one ring. A stream that reads the ring puts the completions of others into their slots and
//! wakes them. The runtime keeps one waker for each descriptor, so one of the waiting streams watches for all; when it
//! has its answer or gives up, it wakes another one, which watches from then on. Nothing here blocks.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use engine::transport::Stream;
use record::FailureKind;
use shm_channel::{Answer, Client, Completed, Error, Greeting};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

use super::failure::Failure;
use super::options::AnswerOptions;

/// A client with a slot for each of its streams.
#[derive(Debug)]
pub(super) struct SharedClient {
    client: RefCell<Client>,
    eventfd: AsyncFd<Arc<OwnedFd>>,
    socket: AsyncFd<Arc<OwnedFd>>,
    slots: RefCell<Vec<StreamSlot>>,
    /// The slot that watches for all.
    watcher: Cell<Option<usize>>,
    is_armed: Cell<bool>,
    /// Whether the channel is out of step.
    is_lost: Cell<bool>,
}

/// The request of a stream, and the waker for its end.
#[derive(Debug, Default)]
struct StreamSlot {
    is_taken: bool,
    /// Number of the request; 0 for none.
    ticket: u64,
    done: Option<Completed>,
    wait: Wait,
    waker: Option<Waker>,
}

/// What a stream waits for. One that waits for less leaves the watch to one that waits for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Wait {
    #[default]
    Nothing,
    /// The producer's end.
    End,
    /// An answer, or the producer's end.
    Answer,
}

/// Why a watch has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wakeup {
    /// A completion was there before the wait.
    Ready,
    /// The eventfd was signalled, or another stream has put a completion here.
    Woken,
    /// The producer has ended.
    End,
}

/// A request under way or awaited in a slot; dropping it gives that up.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    client: &'a SharedClient,
    slot: usize,
}

impl SharedClient {
    /// Holds the greeting over a connected stream, and maps the regions.
    ///
    /// Errors: the producer refused, ended, or does not follow the protocol
    pub(super) async fn over(stream: Stream) -> Result<Self, Failure> {
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
        Ok(Self {
            eventfd: watched(client.shared_eventfd())?,
            client: RefCell::new(client),
            socket,
            slots: RefCell::default(),
            watcher: Cell::new(None),
            is_armed: Cell::new(false),
            is_lost: Cell::new(false),
        })
    }

    /// Marks it as out of step, for all of its streams.
    pub(super) fn lose(&self) {
        self.is_lost.set(true);
    }

    /// Whether others of its streams can go on when one gives up. A stream that was alone takes its slots with it: it may
    /// have been given up because the producer does not answer.
    pub(super) fn goes_on(&self) -> bool {
        self.slots.borrow().len() > 1 && !self.is_lost.get() && !self.is_over()
    }

    /// A slot for one more stream.
    pub(super) fn take_slot(&self) -> usize {
        let mut slots = self.slots.borrow_mut();
        let free = slots.iter().position(|slot| !slot.is_taken).unwrap_or(slots.len());
        if free == slots.len() {
            slots.push(StreamSlot::default());
        }
        slots[free].is_taken = true;
        free
    }

    /// The end of a stream.
    pub(super) fn release_slot(&self, slot: usize) {
        self.slots.borrow_mut()[slot].is_taken = false;
    }

    /// Sends a request from this slot.
    ///
    /// Errors: those of [`Client::submit`]
    pub(super) fn submit(
        &self,
        slot: usize,
        request: &[u8],
        options: AnswerOptions,
    ) -> Result<Waiting<'_>, Error> {
        let mut client = self.client.borrow_mut();
        client.ask_for_times(options.times);
        self.slots.borrow_mut()[slot].ticket = client.submit(request, options.room)?;
        Ok(Waiting { client: self, slot })
    }

    /// Resolves when the producer has ended.
    pub(super) async fn end(&self, slot: usize) {
        let _waiting = Waiting { client: self, slot };
        // An error of the watch counts as its end.
        let _ = poll_fn(|context| self.poll_watch(slot, Wait::End, context)).await;
    }

    /// Watches, or leaves that to the slot that does.
    fn poll_watch(
        &self,
        number: usize,
        wait: Wait,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Wakeup>> {
        let mut slots = self.slots.borrow_mut();
        if slots[number].done.is_some() {
            return Poll::Ready(Ok(Wakeup::Woken));
        }
        if self.is_over() {
            return Poll::Ready(Ok(Wakeup::End));
        }
        slots[number].sleep(wait, context);
        let other = self.watcher.get().filter(|watcher| *watcher != number);
        if other.is_some_and(|watcher| slots[watcher].wait >= wait) {
            return Poll::Pending;
        }
        drop(slots);
        self.watcher.set(Some(number));
        if wait == Wait::Answer {
            if self.arm() {
                return Poll::Ready(Ok(Wakeup::Ready));
            }
            if let Poll::Ready(readable) = self.eventfd.poll_read_ready(context) {
                readable?.clear_ready();
                self.disarm();
                return Poll::Ready(Ok(Wakeup::Woken));
            }
        }
        self.poll_hang_up(context).map_ok(|()| Wakeup::End)
    }

    /// Whether the producer has ended, as far as the runtime knows; works without a watch.
    fn is_over(&self) -> bool {
        let look = |_: &Arc<OwnedFd>| match self.client.borrow().is_gone() {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        };
        self.socket.try_io(Interest::READABLE, look).is_ok()
    }

    fn poll_hang_up(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut readable = ready!(self.socket.poll_read_ready(context))?;
            if self.client.borrow().is_gone() {
                return Poll::Ready(Ok(()));
            }
            // The protocol has no further messages there; ignore any.
            readable.clear_ready();
        }
    }

    /// Asks for the eventfd: whether there is something to take already, so that no wait is needed.
    fn arm(&self) -> bool {
        let is_there = !self.is_armed.replace(true) && self.client.borrow_mut().arm();
        if is_there {
            self.disarm();
        }
        is_there
    }

    fn disarm(&self) {
        if self.is_armed.replace(false) {
            self.client.borrow_mut().disarm();
        }
    }

    /// Gives up what this slot waits for, and the watch with it.
    fn give_up(&self, number: usize) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[number];
        slot.wait = Wait::Nothing;
        let ticket = mem::take(&mut slot.ticket);
        if ticket > 0 {
            slot.done = None;
            self.client.borrow_mut().abandon(ticket);
        }
        if self.watcher.get().is_some_and(|watcher| watcher != number) {
            return;
        }
        // No stream watches any more: it was this one, or one that was woken to watch and gave up before it did.
        self.watcher.set(None);
        self.disarm();
        if let Some(next) = slots.iter().max_by_key(|slot| slot.wait) {
            next.wake();
        }
    }
}

impl Waiting<'_> {
    /// The answer, if there is one. Completions of other streams are put into their slots.
    pub(super) fn taken(&self) -> Option<Result<Answer, Error>> {
        let mut slots = self.client.slots.borrow_mut();
        let mut client = self.client.client.borrow_mut();
        let damage = loop {
            match client.take() {
                Ok(Some(done)) => deliver(&mut slots, self.slot, done),
                Ok(None) => break None,
                Err(damage) => break Some(Err(damage)),
            }
        };
        let slot = &mut slots[self.slot];
        let Some(done) = slot.done.take() else { return damage };
        slot.ticket = 0;
        Some(done.outcome)
    }

    /// Waits for its end, as the channel's README says: for the eventfd, and for the hang-up.
    ///
    /// Errors: the producer refused or ended
    pub(super) async fn answer(&self) -> Result<Answer, Error> {
        let Self { client, slot } = *self;
        loop {
            let watch = poll_fn(|context| client.poll_watch(slot, Wait::Answer, context));
            let doing = "waiting for an answer";
            let seen = watch.await.map_err(|source| Error::Io { doing, source })?;
            if seen == Wakeup::Ready {
                yield_now().await;
            }
            // What was answered last came before the end.
            if let Some(answered) = self.taken() {
                return answered;
            }
            if seen == Wakeup::End {
                return Err(Error::Gone);
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.client.give_up(self.slot);
    }
}

impl StreamSlot {
    /// Keeps the waker of the task. A task keeps its waker, so that this only compares.
    fn sleep(&mut self, wait: Wait, context: &Context<'_>) {
        self.wait = wait;
        match &mut self.waker {
            Some(known) => known.clone_from(context.waker()),
            None => self.waker = Some(context.waker().clone()),
        }
    }

    fn wake(&self) {
        if self.wait > Wait::Nothing {
            self.waker.iter().for_each(Waker::wake_by_ref);
        }
    }
}

/// Puts a completion into its slot and wakes its stream, unless that is the caller.
fn deliver(slots: &mut [StreamSlot], own: usize, done: Completed) {
    let owner = slots.iter_mut().enumerate().find(|(_, slot)| slot.ticket == done.ticket);
    if let Some((number, slot)) = owner {
        slot.done = Some(done);
        if number != own {
            slot.wake();
        }
    }
}

#[expect(deprecated, reason = "its safe successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watched(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}
