//! Connections that are kept, and how many there may be.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::way::Failure;

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// When a deadline that begins now is over, however long it is.
pub(super) fn until(deadline: Duration) -> Instant {
    Instant::now() + deadline.min(FOR_EVER)
}

/// Connections of one way that nobody uses now, and seats for those that somebody does.
#[derive(Debug)]
pub(super) struct Pool<C> {
    seats: Semaphore,
    idle: Mutex<Vec<C>>,
}

impl<C> Pool<C> {
    /// With so many connections at most, one at least.
    pub(super) fn new(most: usize) -> Self {
        Self {
            seats: Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)),
            idle: Mutex::default(),
        }
    }

    /// The right to use one connection.
    ///
    /// Errors: [`Failure::Crowded`] where others have all until then
    pub(super) async fn seat(&self, until: Instant) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout_at(until, self.seats.acquire()).await {
            Ok(seat) => Ok(seat.expect("the semaphore is never closed")),
            Err(_) => Err(Failure::Crowded),
        }
    }

    /// The connection that was given back last.
    pub(super) fn take(&self) -> Option<C> {
        self.idle().pop()
    }

    /// Keeps a connection for whoever comes next; only who has a seat gives one.
    pub(super) fn give(&self, connection: C) {
        self.idle().push(connection);
    }

    /// Forgets those that are kept: whatever broke one of them has broken the others.
    pub(super) fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<C>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
