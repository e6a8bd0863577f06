//! How many, how much and how long, at most.

use std::time::Duration;

/// The bounds that a proxy keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections to the upstream at a time, busy and idle together.
    pub connections: usize,
    /// Requests that wait for a connection at a time; one more is turned away. As many again may wait until fewer
    /// bodies are on their way (see [`Bounds::uploads`]).
    pub queue: usize,
    /// How long a request waits for a connection before it is turned away.
    pub queue_wait: Duration,
    /// How long a connection is kept without a request.
    pub idle: Duration,
    /// Within this time a connection is open.
    pub connect: Duration,
    /// After its last movement a request is answered, at least with a head, within this time; within it the part of
    /// its body comes that is taken beforehand.
    pub first_byte: Duration,
    /// From being taken up to its last byte, an exchange takes at most this long.
    pub whole: Duration,
    /// So many bytes of a request body whose length is known, or all if it has no more, are taken before a connection
    /// is; the rest of a longer one, and one of unknown length, is passed on as it comes.
    pub gathered: usize,
    /// Bytes of a connection's buffer, and with it of an answer's head; at least 8 KiB.
    pub buffer: usize,
}

impl Bounds {
    /// Bodies that are passed on as they come at a time. The other half of the connections is left to requests that
    /// are there as a whole, however slowly others send theirs.
    pub fn uploads(&self) -> usize {
        (self.connections / 2).max(1)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 256,
            queue: 1024,
            queue_wait: Duration::from_secs(1),
            idle: Duration::from_secs(60),
            connect: Duration::from_secs(1),
            first_byte: Duration::from_secs(30),
            whole: Duration::from_secs(300),
            gathered: 16 << 10,
            buffer: 64 << 10,
        }
    }
}
