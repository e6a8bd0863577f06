//! The time by which identities expire where the registry itself keeps them.
//!
//! It starts at the wall clock and advances with the monotonic clock, so that setting the wall
//! clock does not change when identities expire. After a restart it starts at the wall clock again,
//! because instants in a file are wall-clock times.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::identity::Millis;

/// Where time comes from.
pub trait TimeSource: Debug + Send + Sync {
    /// Since 1970; may be set at any time, to anything.
    fn wall(&self) -> Duration;

    /// Since some instant; never goes back, and never jumps.
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

/// A clock that cannot be set.
#[derive(Debug, Clone)]
pub struct Clock {
    time: Arc<dyn TimeSource>,
    /// What to add to the monotonic clock.
    base: Duration,
}

impl Clock {
    /// A clock that begins now.
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
