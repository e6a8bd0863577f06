//! What happened so far, counted; the caller exports it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that is counted up, and for what comes and goes also down.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(crate) fn one(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares the counts once: the struct, and their list for export.
macro_rules! counts {
    ($($(#[doc = $help:literal])+ $name:ident,)+) => {
        /// Everything that a proxy counts. `open`, `idle` and what ends in `waiting` go up and down.
        #[derive(Debug, Default)]
        pub struct Counts {
            $($(#[doc = $help])+ pub $name: Count,)+
        }

        impl Counts {
            /// Each count with its name and what it means.
            pub fn list(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($help),+).trim_ascii(), self.$name.get()),)+]
            }
        }
    };
}

counts! {
    /// Requests taken up.
    requests,
    /// Answers whose head was passed on.
    answered,
    /// Answers passed on to their last byte.
    completed,
    /// Requests or answers dropped by the client before their end.
    cancelled,
    /// Answers that broke off after their head, by the upstream's doing or by the whole deadline.
    broken_off,
    /// Requests whose head cannot be forwarded.
    refused,
    /// Requests whose body broke off or has no valid framing.
    body_broken,
    /// Requests whose body did not come in time.
    body_slow,
    /// Requests turned away because too many waited.
    queue_full,
    /// Requests turned away after waiting for a connection.
    queue_slow,
    /// Requests without a connection because the upstream cannot be reached.
    connect_failed,
    /// Requests without a connection in time.
    connect_slow,
    /// Requests that the upstream did not answer, or not with an answer.
    upstream_broken,
    /// Requests that the upstream did not begin to answer in time.
    first_byte_slow,
    /// Requests that took too long as a whole.
    whole_slow,
    /// Requests sent a second time.
    retried,
    /// Connections opened.
    connected,
    /// Requests sent over a connection that was open already.
    reused,
    /// Connections open now.
    open,
    /// Connections open and idle now.
    idle,
    /// Requests waiting for a connection now.
    waiting,
    /// Requests waiting until fewer bodies are on their way, now.
    uploads_waiting,
    /// Bytes of request bodies passed on.
    bytes_up,
    /// Bytes of answers' bodies passed on.
    bytes_down,
    /// Interim answers (1xx) passed on.
    interims,
    /// Interim answers dropped because the client did not take those before them.
    interims_dropped,
    /// Trailers dropped, of requests and answers.
    trailers_dropped,
}
