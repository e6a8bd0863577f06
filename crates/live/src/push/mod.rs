//! Metrics that are sent while a run goes on: to Prometheus (remote write 1.0), and as OTLP over HTTP, there with spans of
//! slow and failed operations.
//!
//! Each destination has a thread of its own. What it does not take waits within a bound, and the oldest is dropped and
//! counted; the run waits for none of it but a few seconds at its end.
//!
//! In reading order: [`destination`] is where metrics go; [`snapshot`] makes requests of metrics, with [`remote_write`] and
//! [`otlp`]; [`otlp_spans`] makes those of spans; [`backlog`] holds what waits; [`poster`] sends it.

mod backlog;
pub mod destination;
mod follower;
mod otlp;
mod otlp_spans;
mod poster;
mod remote_write;
mod snapshot;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::audience::Audience;
pub use destination::{Destination, Protocol};

/// How long what takes.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Time between two snapshots.
    pub every: Duration,
    /// A request has so long.
    pub timeout: Duration,
    /// Pause after the first failure; each further one doubles it.
    pub pause: Duration,
    /// No pause is longer, whatever the destination asks for.
    pub longest_pause: Duration,
    /// What is older than the newest by more than this is dropped.
    pub keep: Duration,
    /// At the end of a run, so long for what waits.
    pub last: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            keep: Duration::from_secs(600),
            last: Duration::from_secs(5),
        }
    }
}

/// Beyond [`Pace::last`], the thread has so long to notice that time is up.
const MARGIN: Duration = Duration::from_secs(1);

/// Metrics of a run on their way to a destination.
#[derive(Debug)]
pub struct Push {
    /// What it gets.
    pub audience: Audience,
    shown: String,
    last: Duration,
    said: Receiver<String>,
    ended: Receiver<Delivered>,
}

/// Metrics of a run that is over.
#[derive(Debug)]
pub struct ClosedPush {
    shown: String,
    last: Duration,
    said: Receiver<String>,
    ended: Receiver<Delivered>,
    since: Instant,
}

/// What became of the samples of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Samples that the destination took.
    pub sent: u64,
    /// Samples that it never got, or refused.
    pub dropped: u64,
}

impl Push {
    /// Sends metrics there at this pace.
    ///
    /// Errors: the system gives no thread
    pub fn start(destination: Destination, pace: Pace) -> io::Result<Self> {
        let (audience, queue) = Audience::new();
        let missed = audience.count_of_missed();
        let (say, said) = channel();
        let (done, ended) = channel();
        let shown = destination.shown.clone();
        thread::Builder::new().name("push".to_owned()).spawn(move || {
            // Without a runtime nothing is sent, and the run goes on.
            if let Ok(delivered) = follower::run(destination, pace, (queue, missed), say) {
                let _ = done.send(delivered);
            }
        })?;
        Ok(Self { audience, shown, last: pace.last, said, ended })
    }

    /// Sentences about what went wrong since the last call.
    pub fn said(&self) -> impl Iterator<Item = String> {
        self.said.try_iter()
    }

    /// No more news come: what there is is sent now.
    pub fn close(self) -> ClosedPush {
        let Self { shown, last, said, ended, .. } = self;
        ClosedPush { shown, last, said, ended, since: Instant::now() }
    }
}

impl ClosedPush {
    /// Waits a few seconds since it was closed for what there is, and returns what became of it with the sentences for the
    /// user.
    pub fn end(self) -> (Option<Delivered>, Vec<String>) {
        let Self { shown, last, said, ended, since } = self;
        let last = last.saturating_sub(since.elapsed());
        let delivered = ended.recv_timeout(last + MARGIN);
        let mut sentences: Vec<String> = said.try_iter().collect();
        match delivered {
            Ok(Delivered { dropped: 0, .. }) => {}
            Ok(Delivered { sent, dropped }) => {
                let all = sent + dropped;
                sentences.push(format!("{dropped} of {all} samples did not reach {shown}"));
            }
            Err(RecvTimeoutError::Timeout) => {
                sentences
                    .push(format!("{shown} took no answer in time; samples may be missing there"));
            }
            Err(RecvTimeoutError::Disconnected) => {
                sentences.push(format!("nothing could be sent to {shown}"));
            }
        }
        (delivered.ok(), sentences)
    }
}

#[cfg(test)]
mod tests;
