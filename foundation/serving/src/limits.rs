//! Bounds that every system keeps, whatever its clients do.

use std::time::Duration;

use serde::Serialize;

use crate::settings::Settings;

/// Bounds on connections, sizes and times; each can be set by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Connections at a time; one more is closed as soon as it is accepted.
    pub max_connections: u64,
    /// Bytes of a request head.
    pub max_head_bytes: u64,
    /// Bytes of a request body.
    pub max_body_bytes: u64,
    /// A connection without a request for this long is closed.
    pub idle_ns: u64,
    /// A request must be read, and an answer must move on, within this time.
    pub read_ns: u64,
    /// What is in flight when the system is told to stop gets this long.
    pub drain_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_head_bytes: 16 << 10,
            max_body_bytes: 16 << 20,
            idle_ns: 90_000_000_000,
            read_ns: 30_000_000_000,
            drain_ns: 5_000_000_000,
        }
    }
}

impl Limits {
    /// Reads the limits out of the settings `max_connections`, `max_head`, `max_body`, `idle`,
    /// `read` and `drain`.
    pub fn read(settings: &Settings<'_>) -> Self {
        let default = Self::default();
        Self {
            max_connections: settings.count("max_connections", default.max_connections, 1),
            max_head_bytes: settings.size("max_head", default.max_head_bytes).max(256),
            max_body_bytes: settings.size("max_body", default.max_body_bytes),
            idle_ns: settings.positive_time("idle", default.idle_ns),
            read_ns: settings.positive_time("read", default.read_ns),
            drain_ns: settings.time("drain", default.drain_ns),
        }
    }

    /// [`Limits::idle_ns`] for timers of the standard library's kind.
    pub fn idle(&self) -> Duration {
        Duration::from_nanos(self.idle_ns)
    }

    /// [`Limits::read_ns`] likewise.
    pub fn read_time(&self) -> Duration {
        Duration::from_nanos(self.read_ns)
    }

    /// [`Limits::drain_ns`] likewise.
    pub fn drain(&self) -> Duration {
        Duration::from_nanos(self.drain_ns)
    }
}
