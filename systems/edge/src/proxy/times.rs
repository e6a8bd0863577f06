//! How long each part of an answer took until its head was handed on, as its `Server-Timing` tells it.
//!
//! Not here: the body, which comes after the head that tells.

use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use serving::timing::{self, SERVER_TIMING};

/// The parts, as `Server-Timing` names them; the first holds the others.
pub const PARTS: [&str; 3] = ["proxy", "upstream", "cast"];

/// Each part of one answer; what was not done took no time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    begun: Instant,
    /// Until the upstream's head was there, with the wait for a connection; of all tries together.
    pub upstream: Duration,
    /// Waited for room for messages.
    pub cast: Duration,
}

impl Times {
    /// Of a request whose head was just read.
    pub fn begin() -> Self {
        Self { begun: Instant::now(), upstream: Duration::ZERO, cast: Duration::ZERO }
    }

    /// Writes them as `Server-Timing`, after what the upstream reported.
    pub fn write_to(&self, headers: &mut HeaderMap) {
        let [proxy, upstream, cast] = PARTS;
        let parts = [(proxy, self.begun.elapsed()), (upstream, self.upstream), (cast, self.cast)];
        headers.append(SERVER_TIMING, timing::header(parts));
    }
}
