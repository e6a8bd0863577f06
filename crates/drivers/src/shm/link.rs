//! A client of the channel that the streams of a connection share, and what wakes them.
//!
//! Completions come in one ring, whoever they are for: who looks lays what is for others on their desks and wakes
//! them. The runtime remembers one task for each descriptor, so that of all who wait one watches; when it has what it
//! waited for, or gives up, it wakes another one, which watches from then on. Nothing here blocks.

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

use super::channel::Wish;
use super::failure::Failure;

/// A client, and a desk for each of its streams.
#[derive(Debug)]
pub(super) struct Link {
    client: RefCell<Client>,
    eventfd: AsyncFd<Arc<OwnedFd>>,
    socket: AsyncFd<Arc<OwnedFd>>,
    desks: RefCell<Vec<Desk>>,
    /// The desk that watches for all.
    watcher: Cell<Option<usize>>,
    is_armed: Cell<bool>,
    /// Whether what it said can be relied on no more.
    is_lost: Cell<bool>,
}

/// What a stream has under way, and whom to wake when that has ended.
#[derive(Debug, Default)]
struct Desk {
    is_taken: bool,
    /// Number of the request; 0 for none.
    ticket: u64,
    done: Option<Completed>,
    wait: Wait,
    waker: Option<Waker>,
}

/// What is waited for. Who waits for less leaves the watch to who waits for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Wait {
    #[default]
    Nothing,
    /// The producer's end.
    End,
    /// An answer, or the producer's end.
    Answer,
}

/// Why a watch is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Something was there before anybody slept.
    There,
    /// The eventfd was signalled, or another desk has laid something here.
    Woken,
    /// The producer is gone.
    End,
}

/// Something under way or waited for at a desk; dropping it gives that up.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    link: &'a Link,
    desk: usize,
}

impl Link {
    /// Holds the greeting over a connected stream, and maps the regions.
    ///
    /// Errors: the producer's refusal, its end, or what is no producer
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
            desks: RefCell::default(),
            watcher: Cell::new(None),
            is_armed: Cell::new(false),
            is_lost: Cell::new(false),
        })
    }

    /// It is out of step, for all of its streams.
    pub(super) fn lose(&self) {
        self.is_lost.set(true);
    }

    /// Whether others of its streams can go on when one gives up. A stream that was alone takes its slots with it: it may
    /// have been given up because nobody answers.
    pub(super) fn goes_on(&self) -> bool {
        self.desks.borrow().len() > 1 && !self.is_lost.get() && !self.is_over()
    }

    /// A desk for one more stream.
    pub(super) fn take_desk(&self) -> usize {
        let mut desks = self.desks.borrow_mut();
        let free = desks.iter().position(|desk| !desk.is_taken).unwrap_or(desks.len());
        if free == desks.len() {
            desks.push(Desk::default());
        }
        desks[free].is_taken = true;
        free
    }

    /// The end of a stream.
    pub(super) fn leave_desk(&self, desk: usize) {
        self.desks.borrow_mut()[desk].is_taken = false;
    }

    /// Sends a request from this desk.
    ///
    /// Errors: those of [`Client::submit`]
    pub(super) fn submit(
        &self,
        desk: usize,
        request: &[u8],
        wish: Wish,
    ) -> Result<Waiting<'_>, Error> {
        let mut client = self.client.borrow_mut();
        client.ask_for_times(wish.times);
        self.desks.borrow_mut()[desk].ticket = client.submit(request, wish.room)?;
        Ok(Waiting { link: self, desk })
    }

    /// Resolves when the producer is gone.
    pub(super) async fn end(&self, desk: usize) {
        let _waiting = Waiting { link: self, desk };
        // That it cannot be known is as bad as its end.
        let _ = poll_fn(|context| self.poll_watch(desk, Wait::End, context)).await;
    }

    /// Watches, or leaves that to the desk that does.
    fn poll_watch(
        &self,
        number: usize,
        wait: Wait,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Seen>> {
        let mut desks = self.desks.borrow_mut();
        if desks[number].done.is_some() {
            return Poll::Ready(Ok(Seen::Woken));
        }
        if self.is_over() {
            return Poll::Ready(Ok(Seen::End));
        }
        desks[number].sleep(wait, context);
        let other = self.watcher.get().filter(|watcher| *watcher != number);
        if other.is_some_and(|watcher| desks[watcher].wait >= wait) {
            return Poll::Pending;
        }
        drop(desks);
        self.watcher.set(Some(number));
        if wait == Wait::Answer {
            if self.arm() {
                return Poll::Ready(Ok(Seen::There));
            }
            if let Poll::Ready(readable) = self.eventfd.poll_read_ready(context) {
                readable?.clear_ready();
                self.disarm();
                return Poll::Ready(Ok(Seen::Woken));
            }
        }
        self.poll_hang_up(context).map_ok(|()| Seen::End)
    }

    /// Whether the producer is gone, as far as the runtime has heard; nobody need watch for this look.
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
            // Nothing more is to be said there, and what is said all the same means nothing.
            readable.clear_ready();
        }
    }

    /// Asks for the eventfd: whether there is something to take already, so that nobody need wait.
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

    /// Gives up what this desk waits for, and the watch with it.
    fn give_up(&self, number: usize) {
        let mut desks = self.desks.borrow_mut();
        let desk = &mut desks[number];
        desk.wait = Wait::Nothing;
        let ticket = mem::take(&mut desk.ticket);
        if ticket > 0 {
            desk.done = None;
            self.client.borrow_mut().abandon(ticket);
        }
        if self.watcher.get().is_some_and(|watcher| watcher != number) {
            return;
        }
        // Nobody watches any more: it was this one, or one that was woken to watch and gives up before it did.
        self.watcher.set(None);
        self.disarm();
        if let Some(next) = desks.iter().max_by_key(|desk| desk.wait) {
            next.wake();
        }
    }
}

impl Waiting<'_> {
    /// How the exchange has ended, if it has. What has ended of others is laid on their desks.
    pub(super) fn taken(&self) -> Option<Result<Answer, Error>> {
        let mut desks = self.link.desks.borrow_mut();
        let mut client = self.link.client.borrow_mut();
        let damage = loop {
            match client.take() {
                Ok(Some(done)) => lay(&mut desks, self.desk, done),
                Ok(None) => break None,
                Err(damage) => break Some(Err(damage)),
            }
        };
        let desk = &mut desks[self.desk];
        let Some(done) = desk.done.take() else { return damage };
        desk.ticket = 0;
        Some(done.outcome)
    }

    /// Waits for its end, as the channel's README says: for the eventfd, and for the hang-up.
    ///
    /// Errors: what the producer said instead, or what became of it
    pub(super) async fn answer(&self) -> Result<Answer, Error> {
        let Self { link, desk } = *self;
        loop {
            let watch = poll_fn(|context| link.poll_watch(desk, Wait::Answer, context));
            let doing = "waiting for an answer";
            let seen = watch.await.map_err(|source| Error::Io { doing, source })?;
            if seen == Seen::There {
                yield_now().await;
            }
            // What was answered last came before the end.
            if let Some(answered) = self.taken() {
                return answered;
            }
            if seen == Seen::End {
                return Err(Error::Gone);
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.link.give_up(self.desk);
    }
}

impl Desk {
    /// Remembers whom to wake. A task keeps its waker, so this is a comparison and no more.
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

/// Lays an exchange that has ended on the desk that it belongs to; nobody wakes himself.
fn lay(desks: &mut [Desk], own: usize, done: Completed) {
    let owner = desks.iter_mut().enumerate().find(|(_, desk)| desk.ticket == done.ticket);
    if let Some((number, desk)) = owner {
        desk.done = Some(done);
        if number != own {
            desk.wake();
        }
    }
}

#[expect(deprecated, reason = "its safe successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watched(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}
