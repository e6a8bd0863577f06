//! The time by which identities expire where the registry itself keeps them.
//!
//! It is the wall clock's as of the beginning, and goes on from there as the monotonic clock does:
//! whoever sets the wall clock while the registry runs neither ends nor prolongs anybody's life.
//! After a restart the wall clock counts again, because instants in a file are its own.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::identity::Millis;

/// Where time comes from.
pub trait Time: Debug + Send + Sync {
    /// Since 1970; may be set at any time, to anything.
    fn wall(&self) -> Duration;

    /// Since some instant; never goes back, and never jumps.
    fn monotonic(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Debug)]
struct Machine(Instant);

impl Time for Machine {
    fn wall(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that nobody sets.
#[derive(Debug, Clone)]
pub struct Clock {
    time: Arc<dyn Time>,
    /// What to add to the monotonic clock.
    base: Duration,
}

impl Clock {
    /// A clock that begins now.
    pub fn new(time: Arc<dyn Time>) -> Self {
        let base = time.wall().saturating_sub(time.monotonic());
        Self { time, base }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> Millis {
        let since = self.base + self.time.monotonic();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(Arc::new(Machine(Instant::now())))
    }
}
