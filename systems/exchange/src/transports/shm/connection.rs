//! One connection to a producer's channel: the questions under way, and the task that waits for
//! all of them.
//!
//! A request first polls for completions (of all requests) for a while; then it leaves its waker
//! and a task waits on the channel's eventfd while any request sleeps.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use shm_channel::{Answer, Client, Completed, Error};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::refusal::Refusal;

/// How often one looks before others have their turn.
const LOOKS: u32 = 64;

/// How an exchange ended without an answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The answer needs so many bytes.
    TooLarge(usize),
    /// For good.
    Failed(Failure),
}

impl NoAnswer {
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::TooLarge(needed) => Failure::Refused(format!(
                "the answer has {needed} bytes, more than the channel can hold"
            )),
            Self::Failed(failure) => failure,
        }
    }

    /// What the channel says, in the words of ways.
    fn of(error: Error) -> Self {
        match error {
            Error::TooLarge { needed, .. } => {
                Self::TooLarge(usize::try_from(needed).unwrap_or(usize::MAX))
            }
            other => Self::Failed(failure(other)),
        }
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Refused(code) => Refusal::from_code(code),
        Error::Crowded { .. } | Error::NoSlot { .. } => Failure::Crowded,
        Error::Damaged(_) => Failure::Damaged(error.to_string()),
        other => Failure::unreachable(other),
    }
}

/// A question under way.
#[derive(Debug, Default)]
struct PendingRequest {
    outcome: Option<Result<Answer, Error>>,
    /// The waker of a request that sleeps.
    sleeper: Option<Waker>,
}

/// The channel and the requests in progress over it, under one lock.
#[derive(Debug)]
struct ConnectionState {
    client: Client,
    flights: HashMap<u64, PendingRequest>,
    /// How many requests wait for space.
    hungry: usize,
    /// Why there will be no further answers.
    over: Option<Failure>,
}

/// A connection that many tasks use.
#[derive(Debug)]
pub(super) struct ChannelConnection {
    state: Mutex<ConnectionState>,
    /// Signals the waiting task that sleepers came or left.
    called: Notify,
    /// Signals that there is space again.
    freed: Arc<Notify>,
}

impl ChannelConnection {
    /// Connects, and starts the task that waits for answers.
    pub(super) async fn connect(path: PathBuf) -> Result<Arc<Self>, Failure> {
        // A greeting may take a moment, during which others should not wait.
        let connecting = move || Client::connect(path, Duration::ZERO);
        let connected = tokio::task::spawn_blocking(connecting).await;
        let client = connected.map_err(Failure::unreachable)?.map_err(failure)?;
        let watched = WatchedFds::new(&client).map_err(Failure::unreachable)?;
        let state = ConnectionState { client, flights: HashMap::new(), hungry: 0, over: None };
        let (called, freed) = (Notify::new(), Arc::default());
        let link = Arc::new(Self { state: Mutex::new(state), called, freed });
        tokio::spawn(wait(link.clone(), watched));
        Ok(link)
    }

    /// Whether nothing more will come over it.
    pub(super) fn is_over(&self) -> bool {
        self.state().over.is_some()
    }

    fn is_hung_up(&self) -> bool {
        self.state().client.is_gone()
    }

    /// Ends it, and the task that waits.
    pub(super) fn close(&self) {
        self.state().end(Failure::unreachable("the connection was dropped"));
        self.called.notify_one();
    }

    /// Notified when there is space again.
    pub(super) fn freed(&self) -> Arc<Notify> {
        self.freed.clone()
    }

    /// Asks, and waits for the answer.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        request: &[u8],
        room: usize,
        spin: Duration,
        until: Instant,
    ) -> Result<Answer, NoAnswer> {
        let question = self.submit(request, room, until).await?;
        if let Some(outcome) = question.poll_answer(spin).await {
            return outcome;
        }
        match timeout_at(until, question.sleep()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(NoAnswer::Failed(Failure::Deadline)),
        }
    }

    /// Sends a request as soon as there is space for its answer.
    async fn submit(
        self: &Arc<Self>,
        request: &[u8],
        room: usize,
        until: Instant,
    ) -> Result<SentRequest, NoAnswer> {
        let mut hunger = None;
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // From here on nothing is missed.
            freed.as_mut().enable();
            match self.try_submit(request, room) {
                Err(Error::NoSlot { .. }) => {}
                Ok(ticket) => return Ok(SentRequest { link: self.clone(), ticket }),
                Err(error) => return Err(NoAnswer::of(error)),
            }
            if hunger.is_none() {
                hunger = Some(SpaceWaiter::begin(self));
                continue;
            }
            let waited = timeout_at(until, freed).await;
            waited.map_err(|_| NoAnswer::Failed(Failure::Crowded))?;
        }
    }

    fn try_submit(&self, request: &[u8], room: usize) -> Result<u64, Error> {
        let mut state = self.state();
        if state.over.is_some() {
            return Err(Error::Gone);
        }
        let submitted = state.client.submit(request, room);
        match &submitted {
            Ok(ticket) => drop(state.flights.insert(*ticket, PendingRequest::default())),
            Err(Error::Damaged(what)) => state.end(Failure::Damaged((*what).to_owned())),
            Err(_) => {}
        }
        submitted
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects completions; notifies requests that wait for space if some was freed.
    fn collect(&self) -> MutexGuard<'_, ConnectionState> {
        let mut state = self.state();
        let before = if state.hungry > 0 { state.client.free_slots() } else { usize::MAX };
        state.collect();
        if state.hungry > 0 && state.client.free_slots() > before {
            self.freed.notify_waiters();
        }
        if state.over.is_some() {
            // The task that waits has nothing to wait for.
            self.called.notify_one();
        }
        state
    }
}

impl ConnectionState {
    /// Delivers completions to their requests. The space of an abandoned one is freed.
    fn collect(&mut self) {
        loop {
            match self.client.take() {
                Ok(Some(Completed { ticket, outcome })) => {
                    let Some(flight) = self.flights.get_mut(&ticket) else { continue };
                    flight.outcome = Some(outcome);
                    flight.sleeper.take().into_iter().for_each(Waker::wake);
                }
                Ok(None) => return,
                Err(error) => return self.end(failure(error)),
            }
        }
    }

    /// No further answer will come.
    fn end(&mut self, why: Failure) {
        self.over.get_or_insert(why);
        for flight in self.flights.values_mut() {
            flight.sleeper.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Whether a request sleeps, so that the task must wait.
    fn has_sleepers(&self) -> bool {
        self.hungry > 0 || self.flights.values().any(|flight| flight.sleeper.is_some())
    }
}

/// A request that waits for space: until it has some, the task also collects abandoned answers.
struct SpaceWaiter<'a>(&'a ChannelConnection);

impl<'a> SpaceWaiter<'a> {
    fn begin(link: &'a ChannelConnection) -> Self {
        link.state().hungry += 1;
        link.called.notify_one();
        Self(link)
    }
}

impl Drop for SpaceWaiter<'_> {
    fn drop(&mut self) {
        self.0.state().hungry -= 1;
    }
}

/// A question that was sent; given up when dropped.
struct SentRequest {
    link: Arc<ChannelConnection>,
    ticket: u64,
}

impl SentRequest {
    /// How it ended, if it has; a waker given is woken when it does.
    fn poll(&self, waker: Option<&Waker>) -> Poll<Result<Answer, NoAnswer>> {
        let mut state = self.link.collect();
        let ConnectionState { flights, over, .. } = &mut *state;
        let flight = flights.get_mut(&self.ticket).expect("it is there until this is dropped");
        if let Some(outcome) = flight.outcome.take() {
            return Poll::Ready(outcome.map_err(NoAnswer::of));
        }
        if let Some(why) = over {
            return Poll::Ready(Err(NoAnswer::Failed(why.clone())));
        }
        flight.sleeper = waker.cloned();
        Poll::Pending
    }

    /// Looks for the answer during this time; `None` where it has not come.
    async fn poll_answer(&self, spin: Duration) -> Option<Result<Answer, NoAnswer>> {
        if spin.is_zero() {
            return None;
        }
        let begun = std::time::Instant::now();
        loop {
            for _ in 0..LOOKS {
                if let Poll::Ready(outcome) = self.poll(None) {
                    return Some(outcome);
                }
                std::hint::spin_loop();
            }
            if begun.elapsed() >= spin {
                return None;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits for the answer without looking for it.
    async fn sleep(&self) -> Result<Answer, NoAnswer> {
        let mut is_told = false;
        std::future::poll_fn(|context| {
            let polled = self.poll(Some(context.waker()));
            if polled.is_pending() && !is_told {
                is_told = true;
                self.link.called.notify_one();
            }
            polled
        })
        .await
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        let mut state = self.link.state();
        // With an answer that was not taken, its space is freed.
        state.flights.remove(&self.ticket);
        // Nothing, where it has ended.
        state.client.abandon(self.ticket);
        if state.hungry > 0 {
            self.link.freed.notify_waiters();
        }
    }
}

/// The descriptors for an event loop.
struct WatchedFds {
    /// Readable when a request completed while a sleeper had asked for it.
    eventfd: AsyncFd<OwnedFd>,
    /// Readable at the producer's end.
    socket: AsyncFd<OwnedFd>,
}

impl WatchedFds {
    #[expect(
        deprecated,
        reason = "what can be unsound of it is a type that lies about its \
                                   descriptor, and an `OwnedFd` does not"
    )]
    fn new(client: &Client) -> std::io::Result<Self> {
        let watch = |fd: BorrowedFd<'_>| {
            AsyncFd::with_interest(fd.try_clone_to_owned()?, Interest::READABLE)
        };
        Ok(Self { eventfd: watch(client.eventfd())?, socket: watch(client.socket())? })
    }
}

/// Takes a readiness up; whether there will be no further one, as the runtime ends.
fn is_unwatched(ready: std::io::Result<AsyncFdReadyGuard<'_, OwnedFd>>) -> bool {
    ready.map(|mut guard| guard.clear_ready()).is_err()
}

/// Waits for answers on behalf of those who sleep, and for the producer's end.
async fn wait(link: Arc<ChannelConnection>, watched: WatchedFds) {
    loop {
        let is_armed = {
            let mut state = link.collect();
            if state.over.is_some() {
                break;
            }
            let is_armed = state.has_sleepers();
            if is_armed && state.client.arm() {
                state.client.disarm();
                continue;
            }
            is_armed
        };
        let is_over = tokio::select! {
            () = link.called.notified() => false,
            ready = watched.eventfd.readable(), if is_armed => is_unwatched(ready),
            ready = watched.socket.readable() => is_unwatched(ready) || link.is_hung_up(),
        };
        if is_armed {
            link.state().client.disarm();
        }
        if is_over {
            // What was answered before the end is still there.
            link.collect().end(Failure::unreachable(Error::Gone));
        }
    }
    link.freed.notify_waiters();
}
