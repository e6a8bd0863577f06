//! The state that all connections of a mail server share.

use std::sync::Arc;

use crate::session::{Counts, Settings};
use crate::tls::Tls;

/// A mail server: the state that all its connections share. Servers with the same `counts` also share the limits of
/// connections and memory.
#[derive(Debug)]
pub struct Smtp<S> {
    /// The store for messages.
    pub store: Arc<S>,
    /// The settings of sessions.
    pub settings: Settings,
    /// The certificate; `None` disables `STARTTLS` and implicit TLS.
    pub tls: Option<Tls>,
    /// TLS from the first byte.
    pub is_implicit_tls: bool,
    /// Counts of events.
    pub counts: Counts,
}

impl<S> Smtp<S> {
    /// The reply to a client beyond the limit of connections.
    pub(super) fn busy(&self) -> String {
        format!("421 4.3.2 {} Too busy, closing connection\r\n", self.settings.hostname)
    }
}
