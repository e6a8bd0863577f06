//! Connections that are kept, each for one question at a time, and how many there may be.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::ask::Ask;
use crate::way::{Failure, Payload, judged};

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// When a deadline that begins now is over, however long it is.
pub(super) fn until(deadline: Duration) -> Instant {
    Instant::now() + deadline.min(FOR_EVER)
}

/// An answer and its checksum, or what was said in its place.
pub(super) type Outcome = Result<(Payload, u64), Failure>;

/// Whom connections lead to: what HTTP and the Unix socket do each in its own way.
pub(super) trait Target: Send + Sync {
    /// A connection to it.
    type Connection: Send;

    /// Makes a connection.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Failure>> + Send;

    /// Asks over a connection that nobody else uses; after an outcome it may be used again.
    fn ask(
        &self,
        connection: &mut Self::Connection,
        ask: &Ask,
    ) -> impl Future<Output = Result<Outcome, Broken>> + Send;
}

/// How an exchange over one connection went wrong.
pub(super) struct Broken {
    pub failure: Failure,
    /// Nothing of an answer came, as on a connection that was closed while it was kept: it may be
    /// asked again over another one.
    pub is_worth_another: bool,
}

impl Broken {
    /// Not to be tried again.
    pub(super) fn for_good(failure: Failure) -> Self {
        Self { failure, is_worth_another: false }
    }
}

/// Connections of one way that nobody uses now, and seats for those that somebody does.
#[derive(Debug)]
pub(super) struct Pool<T: Target> {
    target: T,
    seats: Semaphore,
    idle: Mutex<Vec<T::Connection>>,
}

impl<T: Target> Pool<T> {
    /// With so many connections at most, one at least; connects when asked.
    pub(super) fn new(target: T, most: usize) -> Self {
        let seats = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { target, seats, idle: Mutex::default() }
    }

    /// Asks over one of the connections, as [`crate::way::Way::fetch`] promises.
    pub(super) async fn fetch(&self, ask: &Ask, deadline: Duration) -> Result<Payload, Failure> {
        let until = until(deadline);
        let seat = self.seat(until).await?;
        let (payload, checksum) = self.exchange(ask, until).await?;
        drop(seat);
        judged(ask, payload, checksum)
    }

    /// The right to use one connection.
    ///
    /// Errors: [`Failure::Crowded`] where others have all until then
    async fn seat(&self, until: Instant) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout_at(until, self.seats.acquire()).await {
            Ok(seat) => Ok(seat.expect("the semaphore is never closed")),
            Err(_) => Err(Failure::Crowded),
        }
    }

    /// The same over the connection that was given back last, or else over a new one.
    async fn exchange(&self, ask: &Ask, until: Instant) -> Outcome {
        while let Some(kept) = self.take() {
            match self.over(kept, ask, until).await {
                // Whatever broke one of them has broken the others.
                Err(broken) if broken.is_worth_another => self.idle().clear(),
                ended => return ended.map_err(|broken| broken.failure),
            }
        }
        let connection = match timeout_at(until, self.target.connect()).await {
            Ok(connected) => connected?,
            Err(_) => return Err(Failure::unreachable("connecting took too long")),
        };
        self.over(connection, ask, until).await.map_err(|broken| broken.failure)
    }

    /// The same over this connection, which is kept if it is still of use.
    async fn over(
        &self,
        mut connection: T::Connection,
        ask: &Ask,
        until: Instant,
    ) -> Result<(Payload, u64), Broken> {
        let asked = timeout_at(until, self.target.ask(&mut connection, ask)).await;
        let outcome = asked.unwrap_or_else(|_| Err(Broken::for_good(Failure::Deadline)))?;
        self.idle().push(connection);
        outcome.map_err(Broken::for_good)
    }

    fn take(&self) -> Option<T::Connection> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T::Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
