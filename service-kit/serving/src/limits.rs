//! Limits of every system.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::settings::Settings;

/// Bounds on connections, sizes and times; each can be set by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Connections at a time; further ones are closed as soon as they are accepted.
    pub max_connections: u64,
    /// Bytes of a request head.
    pub max_head_bytes: u64,
    /// Bytes of a request body.
    pub max_body_bytes: u64,
    /// Bytes of all request bodies held at a time; `None` for a system that holds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bodies_bytes: Option<u64>,
    /// A connection without a request for this long is closed.
    pub idle_ns: u64,
    /// A request must be read, and an answer must move on, within this time.
    pub read_ns: u64,
    /// How long requests in progress may take after a stop.
    pub drain_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_head_bytes: 16 << 10,
            max_body_bytes: 16 << 20,
            max_bodies_bytes: Some(256 << 20),
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
            max_connections: settings.count(
                "max_connections",
                default.max_connections,
                1..=u64::MAX,
            ),
            max_head_bytes: settings.size("max_head", default.max_head_bytes).max(256),
            max_body_bytes: settings.size("max_body", default.max_body_bytes),
            max_bodies_bytes: None,
            idle_ns: settings.positive_time("idle", default.idle_ns),
            read_ns: settings.positive_time("read", default.read_ns),
            drain_ns: settings.time("drain", default.drain_ns),
        }
    }

    /// The same with `max_bodies`, for a system that holds a body until it has answered.
    pub fn read_with_bodies(settings: &Settings<'_>) -> Self {
        let limits = Self::read(settings);
        let default = Self::default().max_bodies_bytes.unwrap_or(u64::MAX);
        // One body of the largest size always fits.
        let most = settings.size("max_bodies", default).max(limits.max_body_bytes);
        Self { max_bodies_bytes: Some(most), ..limits }
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

/// File descriptors that this process may have open; `u64::MAX` if any number.
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit of open files to the hard one, for the whole process.
///
/// A process that serves thousands of connections needs it, and the usual soft limit of 1024 is
/// only a courtesy to programs that still use `select`. A refusal by the kernel changes nothing,
/// and shows in [`open_files`].
pub fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn limits_are_set_by_name_and_keep_their_defaults() {
        let options = Options::default().with("idle", "2s").with("max_head", "1B");
        let settings = Settings::new(&options.settings);
        let limits = Limits::read(&settings);
        settings.finish("the test").unwrap();
        assert_eq!(limits.idle(), Duration::from_secs(2));
        // A head of one byte could not be served at all.
        assert_eq!(limits.max_head_bytes, 256);
        assert_eq!(limits.drain_ns, Limits::default().drain_ns);
        assert_eq!(limits.max_bodies_bytes, None);
    }

    #[test]
    fn all_bodies_together_have_room_for_one() {
        let options = Options::default().with("max_body", "2KiB").with("max_bodies", "1KiB");
        let settings = Settings::new(&options.settings);
        assert_eq!(Limits::read_with_bodies(&settings).max_bodies_bytes, Some(2048));
        settings.finish("the test").unwrap();
    }

    #[test]
    fn open_files_are_raised_to_the_hard_limit() {
        raise_open_files();
        assert_eq!(Some(open_files()), getrlimit(Resource::Nofile).maximum.or(Some(u64::MAX)));
    }
}
