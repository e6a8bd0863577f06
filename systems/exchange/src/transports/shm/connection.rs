//! One connection to a producer's channel: the questions under way, and the task that waits for
//! all of them.
//!
//! Whoever asks looks for what has ended, everybody's, for a while; then it leaves its waker and
//! the task waits on the channel's eventfd, for as long as somebody sleeps.

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

use crate::refusal::Refusal;
use crate::way::Failure;

/// How often one looks before others have their turn.
const LOOKS: u32 = 64;

/// How an exchange ended without an answer.
#[derive(Debug)]
pub(super) enum Ended {
    /// The answer needs so many bytes.
    TooLarge(usize),
    /// For good.
    Failed(Failure),
}

impl Ended {
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::TooLarge(needed) => {
                Failure::Refused(format!("{needed} bytes are more than the channel has room for"))
            }
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
        Error::Refused(code) => Refusal::told(code),
        Error::Crowded { .. } | Error::NoSlot { .. } => Failure::Crowded,
        Error::Damaged(_) => Failure::Damaged(error.to_string()),
        other => Failure::unreachable(other),
    }
}

/// A question under way.
#[derive(Debug, Default)]
struct Flight {
    outcome: Option<Result<Answer, Error>>,
    /// Of a task that sleeps until there is one.
    sleeper: Option<Waker>,
}

/// The channel and the questions under way over it; whose turn it is has it.
#[derive(Debug)]
struct Traffic {
    client: Client,
    flights: HashMap<u64, Flight>,
    /// How many wait for room.
    hungry: usize,
    /// Why there will be no further answers.
    over: Option<Failure>,
}

/// A connection that many tasks use.
#[derive(Debug)]
pub(super) struct Link {
    traffic: Mutex<Traffic>,
    /// The task that waits has somebody to wait for, or none any more.
    called: Notify,
    /// There is room again.
    freed: Arc<Notify>,
}

impl Link {
    /// Connects, and starts the task that waits for answers.
    pub(super) async fn connect(path: PathBuf) -> Result<Arc<Self>, Failure> {
        // A greeting may take a moment, during which others should not wait.
        let connecting = move || Client::connect(path, Duration::ZERO);
        let connected = tokio::task::spawn_blocking(connecting).await;
        let client = connected.map_err(Failure::unreachable)?.map_err(failure)?;
        let watched = Watched::new(&client).map_err(Failure::unreachable)?;
        let traffic = Traffic { client, flights: HashMap::new(), hungry: 0, over: None };
        let (called, freed) = (Notify::new(), Arc::default());
        let link = Arc::new(Self { traffic: Mutex::new(traffic), called, freed });
        tokio::spawn(wait(link.clone(), watched));
        Ok(link)
    }

    /// Whether nothing more will come over it.
    pub(super) fn is_over(&self) -> bool {
        self.traffic().over.is_some()
    }

    fn is_hung_up(&self) -> bool {
        self.traffic().client.is_gone()
    }

    /// Ends it, and the task that waits.
    pub(super) fn close(&self) {
        self.traffic().end(Failure::unreachable("nobody uses the connection any more"));
        self.called.notify_one();
    }

    /// Told when there is room again.
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
    ) -> Result<Answer, Ended> {
        let question = self.submit(request, room, until).await?;
        if let Some(outcome) = question.look_for(spin).await {
            return outcome;
        }
        match timeout_at(until, question.sleep()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Ended::Failed(Failure::Deadline)),
        }
    }

    /// Sends a question as soon as there is room for its answer.
    async fn submit(
        self: &Arc<Self>,
        request: &[u8],
        room: usize,
        until: Instant,
    ) -> Result<Question, Ended> {
        let mut hunger = None;
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // From here on nothing is missed.
            freed.as_mut().enable();
            match self.try_submit(request, room) {
                Err(Error::NoSlot { .. }) => {}
                Ok(ticket) => return Ok(Question { link: self.clone(), ticket }),
                Err(error) => return Err(Ended::of(error)),
            }
            if hunger.is_none() {
                hunger = Some(Hunger::begin(self));
                continue;
            }
            let waited = timeout_at(until, freed).await;
            waited.map_err(|_| Ended::Failed(Failure::Crowded))?;
        }
    }

    fn try_submit(&self, request: &[u8], room: usize) -> Result<u64, Error> {
        let mut traffic = self.traffic();
        if traffic.over.is_some() {
            return Err(Error::Gone);
        }
        let submitted = traffic.client.submit(request, room);
        match &submitted {
            Ok(ticket) => drop(traffic.flights.insert(*ticket, Flight::default())),
            Err(Error::Damaged(what)) => traffic.end(Failure::Damaged((*what).to_owned())),
            Err(_) => {}
        }
        submitted
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what has ended; tells those who wait for room where there came some.
    fn collect(&self) -> MutexGuard<'_, Traffic> {
        let mut traffic = self.traffic();
        let before = if traffic.hungry > 0 { traffic.client.free_slots() } else { usize::MAX };
        traffic.collect();
        if traffic.hungry > 0 && traffic.client.free_slots() > before {
            self.freed.notify_waiters();
        }
        if traffic.over.is_some() {
            // The task that waits has nothing to wait for.
            self.called.notify_one();
        }
        traffic
    }
}

impl Traffic {
    /// Gives what has ended to those who asked. What nobody waits for gives its room back.
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

    /// Whether somebody sleeps, so that the task must not.
    fn has_sleepers(&self) -> bool {
        self.hungry > 0 || self.flights.values().any(|flight| flight.sleeper.is_some())
    }
}

/// Somebody who waits for room: until it has some, the task waits for what was given up, too.
struct Hunger<'a>(&'a Link);

impl<'a> Hunger<'a> {
    fn begin(link: &'a Link) -> Self {
        link.traffic().hungry += 1;
        link.called.notify_one();
        Self(link)
    }
}

impl Drop for Hunger<'_> {
    fn drop(&mut self) {
        self.0.traffic().hungry -= 1;
    }
}

/// A question that was sent; given up when dropped.
struct Question {
    link: Arc<Link>,
    ticket: u64,
}

impl Question {
    /// How it ended, if it has; a waker given is woken when it does.
    fn poll(&self, waker: Option<&Waker>) -> Poll<Result<Answer, Ended>> {
        let mut traffic = self.link.collect();
        let Traffic { flights, over, .. } = &mut *traffic;
        let flight = flights.get_mut(&self.ticket).expect("it is there until this is dropped");
        if let Some(outcome) = flight.outcome.take() {
            return Poll::Ready(outcome.map_err(Ended::of));
        }
        if let Some(why) = over {
            return Poll::Ready(Err(Ended::Failed(why.clone())));
        }
        flight.sleeper = waker.cloned();
        Poll::Pending
    }

    /// Looks for the answer during this time; `None` where it has not come.
    async fn look_for(&self, spin: Duration) -> Option<Result<Answer, Ended>> {
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
    async fn sleep(&self) -> Result<Answer, Ended> {
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

impl Drop for Question {
    fn drop(&mut self) {
        let mut traffic = self.link.traffic();
        // With an answer that nobody took, its room.
        traffic.flights.remove(&self.ticket);
        // Nothing, where it has ended.
        traffic.client.abandon(self.ticket);
        if traffic.hungry > 0 {
            self.link.freed.notify_waiters();
        }
    }
}

/// What the channel tells an event loop.
struct Watched {
    /// Readable when something was completed and somebody had asked for that.
    eventfd: AsyncFd<OwnedFd>,
    /// Readable at the producer's end.
    socket: AsyncFd<OwnedFd>,
}

impl Watched {
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
async fn wait(link: Arc<Link>, watched: Watched) {
    loop {
        let is_armed = {
            let mut traffic = link.collect();
            if traffic.over.is_some() {
                break;
            }
            let is_armed = traffic.has_sleepers();
            if is_armed && traffic.client.arm() {
                traffic.client.disarm();
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
            link.traffic().client.disarm();
        }
        if is_over {
            // What was answered before the end is still there.
            link.collect().end(Failure::unreachable(Error::Gone));
        }
    }
    link.freed.notify_waiters();
}
