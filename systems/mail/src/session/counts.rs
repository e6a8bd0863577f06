//! Counts over all connections: for the metrics, and for the limits that all connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serving::metrics::{Counter, Gauge, Registry};

use crate::faults::FaultDraws;

/// Counts of one server; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Open connections.
    pub open: Gauge,
    /// Bytes of buffers that connections hold.
    pub buffered: Gauge,
    /// Connections that got a session.
    pub connections: Counter,
    /// Connections that got 421 because of too many connections or too little memory.
    pub turned_away: Counter,
    /// Messages that were accepted.
    pub accepted: Counter,
    /// Messages that were refused at `DATA`, `BDAT` or at their end.
    pub refused: Counter,
    /// Messages during which the connection ended.
    pub aborted: Counter,
    /// Bytes of content received, dots unstuffed.
    pub content_bytes: Counter,
    /// Recipients accepted.
    pub recipients: Counter,
    /// Recipients refused.
    pub recipients_refused: Counter,
    /// Commands with errors.
    pub errors: Counter,
    /// Connections closed because of a time-out.
    pub timeouts: Counter,
    /// Handshakes that succeeded.
    pub handshakes: Counter,
    /// Handshakes that failed.
    pub handshakes_failed: Counter,
    /// Clients that authenticated.
    pub authenticated: Counter,
    /// Clients that failed to authenticate.
    pub authentication_failed: Counter,
    /// How many of each phase the injected faults have counted.
    pub(crate) draws: Arc<FaultDraws>,
    /// How much of the shared limits is used.
    pub(crate) taken: Arc<HeldResources>,
}

/// Resources that connections hold now.
#[derive(Debug, Default)]
pub(crate) struct HeldResources {
    connections: AtomicU64,
    bytes: AtomicU64,
}

impl Counts {
    /// Counts that are registered with a system's metrics.
    pub fn new(metrics: &Registry) -> Self {
        let counter = |name, help| metrics.counter(name, help);
        Self {
            open: metrics.gauge("mail_connections", "Open connections."),
            buffered: metrics.gauge("mail_buffer_bytes", "Bytes of buffers that connections hold."),
            connections: counter("mail_connections_total", "Connections served."),
            turned_away: counter("mail_connections_refused_total", "Connections refused with 421."),
            accepted: counter("mail_messages_accepted_total", "Messages accepted."),
            refused: counter("mail_messages_refused_total", "Messages refused at DATA or after."),
            aborted: counter(
                "mail_messages_aborted_total",
                "Messages aborted by the end of the connection.",
            ),
            content_bytes: counter("mail_content_bytes_total", "Bytes of content received."),
            recipients: counter("mail_recipients_accepted_total", "Recipients accepted."),
            recipients_refused: counter("mail_recipients_refused_total", "Recipients refused."),
            errors: counter("mail_command_errors_total", "Commands refused as errors."),
            timeouts: counter("mail_timeouts_total", "Connections closed by a time-out."),
            handshakes: counter("mail_tls_handshakes_total", "TLS handshakes that succeeded."),
            handshakes_failed: counter("mail_tls_failures_total", "TLS handshakes that failed."),
            authenticated: counter("mail_auth_total", "Clients that authenticated."),
            authentication_failed: counter("mail_auth_failures_total", "Failed authentications."),
            draws: Arc::default(),
            taken: Arc::default(),
        }
    }

    /// Reserves a connection; `false` if the limit is reached.
    pub(crate) fn acquire_connection(&self, most: u64) -> bool {
        let taken = take(&self.taken.connections, 1, most);
        if taken {
            self.open.add(1);
        }
        taken
    }

    /// Releases a connection.
    pub(crate) fn release_connection(&self) {
        self.taken.connections.fetch_sub(1, Ordering::Relaxed);
        self.open.add(-1);
    }

    /// Reserves bytes of buffers; `false` if too few are left.
    pub(crate) fn take_bytes(&self, bytes: u64, most: u64) -> bool {
        let taken = take(&self.taken.bytes, bytes, most);
        if taken {
            self.buffered.add(bytes.cast_signed());
        }
        taken
    }

    /// Releases bytes.
    pub(crate) fn release_bytes(&self, bytes: u64) {
        self.taken.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.buffered.add(-bytes.cast_signed());
    }
}

fn take(counter: &AtomicU64, more: u64, most: u64) -> bool {
    let grown = |held: u64| held.checked_add(more).filter(|sum| *sum <= most);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_never_overdrawn() {
        let counts = Counts::default();
        assert!(
            counts.acquire_connection(2)
                && counts.acquire_connection(2)
                && !counts.acquire_connection(2)
        );
        counts.release_connection();
        assert!(counts.acquire_connection(2));
        assert_eq!(counts.open.get(), 2);
        assert!(counts.take_bytes(10, 15) && !counts.take_bytes(6, 15) && counts.take_bytes(5, 15));
        assert!(!counts.take_bytes(u64::MAX, u64::MAX));
        counts.release_bytes(10);
        assert_eq!(counts.buffered.get(), 5);
    }
}
