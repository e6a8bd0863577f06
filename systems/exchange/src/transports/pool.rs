//! Connections that are kept, each for one question at a time, and how many there may be.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::DataRequest;
use crate::transport::verified;

/// Longer than any request waits.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// When a deadline that begins now is over, however long it is.
pub(super) fn deadline_after(deadline: Duration) -> Instant {
    Instant::now() + deadline.min(FOR_EVER)
}

/// An answer and its checksum, or what was said in its place.
pub(super) type Outcome = Result<(Payload, u64), Failure>;

/// The server that connections lead to, over HTTP or the Unix socket.
pub(super) trait Endpoint: Send + Sync {
    /// A connection to it.
    type Connection: Send;

    /// Makes a connection.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Failure>> + Send;

    /// Sends a request over an idle connection; after an outcome it may be used again.
    fn ask(
        &self,
        connection: &mut Self::Connection,
        ask: &DataRequest,
    ) -> impl Future<Output = Result<Outcome, ExchangeError>> + Send;
}

/// How an exchange over one connection went wrong.
pub(super) struct ExchangeError {
    pub failure: Failure,
    /// Nothing of an answer came, as on a connection that was closed while it was kept: it may be
    /// asked again over another one.
    pub is_worth_another: bool,
}

impl ExchangeError {
    /// Not to be tried again.
    pub(super) fn permanent(failure: Failure) -> Self {
        Self { failure, is_worth_another: false }
    }
}

/// Idle connections of one transport, and permits for those in use.
#[derive(Debug)]
pub(super) struct Pool<T: Endpoint> {
    target: T,
    seats: Semaphore,
    idle: Mutex<Vec<T::Connection>>,
}

impl<T: Endpoint> Pool<T> {
    /// With so many connections at most, one at least; connects when asked.
    pub(super) fn new(target: T, most: usize) -> Self {
        let seats = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { target, seats, idle: Mutex::default() }
    }

    /// Asks over one of the connections, as [`crate::transport::Transport::fetch`] promises.
    pub(super) async fn fetch(
        &self,
        ask: &DataRequest,
        deadline: Duration,
    ) -> Result<Payload, Failure> {
        let deadline_after = deadline_after(deadline);
        let seat = self.seat(deadline_after).await?;
        let (payload, checksum) = self.exchange(ask, deadline_after).await?;
        drop(seat);
        verified(ask, payload, checksum)
    }

    /// The right to use one connection.
    ///
    /// Errors: [`Failure::Crowded`] where others have all until then
    async fn seat(&self, deadline_after: Instant) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout_at(deadline_after, self.seats.acquire()).await {
            Ok(seat) => Ok(seat.expect("the semaphore is never closed")),
            Err(_) => Err(Failure::Crowded),
        }
    }

    /// The same over the connection that was given back last, or else over a new one.
    async fn exchange(&self, ask: &DataRequest, deadline_after: Instant) -> Outcome {
        while let Some(kept) = self.take() {
            match self.exchange_over(kept, ask, deadline_after).await {
                // If one connection broke, all idle ones have.
                Err(broken) if broken.is_worth_another => self.idle().clear(),
                ended => return ended.map_err(|broken| broken.failure),
            }
        }
        let connection = match timeout_at(deadline_after, self.target.connect()).await {
            Ok(connected) => connected?,
            Err(_) => return Err(Failure::unreachable("connecting took too long")),
        };
        self.exchange_over(connection, ask, deadline_after).await.map_err(|broken| broken.failure)
    }

    /// The same over this connection, which is kept if it is still of use.
    async fn exchange_over(
        &self,
        mut connection: T::Connection,
        ask: &DataRequest,
        deadline_after: Instant,
    ) -> Result<(Payload, u64), ExchangeError> {
        let asked = timeout_at(deadline_after, self.target.ask(&mut connection, ask)).await;
        let outcome = asked.unwrap_or_else(|_| Err(ExchangeError::permanent(Failure::Deadline)))?;
        self.idle().push(connection);
        outcome.map_err(ExchangeError::permanent)
    }

    fn take(&self) -> Option<T::Connection> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T::Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
