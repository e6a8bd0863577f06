//! The clock for expiry where the registry itself stores the identities.
//!
//! It starts at the wall clock and advances with the monotonic clock, so setting the wall clock
//! does not change when identities expire. After a restart it starts at the wall clock again,
//! because instants in a file are wall-clock times.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::identity::Millis;

/// The source of time.
pub trait TimeSource: Debug + Send + Sync {
    /// Time since 1970; the wall clock may be set at any time.
    fn wall(&self) -> Duration;

    /// Time since some instant; never goes back or jumps.
    fn monotonic(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Debug)]
struct MachineTime(Instant);

impl TimeSource for MachineTime {
    fn wall(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that is not affected by setting the wall clock.
#[derive(Debug, Clone)]
pub struct Clock {
    time: Arc<dyn TimeSource>,
    /// The offset from the monotonic clock.
    base: Duration,
}

impl Clock {
    /// A clock that starts at the current wall-clock time.
    pub fn new(time: Arc<dyn TimeSource>) -> Self {
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
        Self::new(Arc::new(MachineTime(Instant::now())))
    }
}
