//! What all connections of a mail server share.

use std::sync::Arc;

use crate::session::{Counts, Settings};
use crate::tls::Tls;

/// A mail server: what all its connections share. Servers that share their `counts` share the bounds of connections and
/// of memory, too.
#[derive(Debug)]
pub struct Smtp<S> {
    /// Where messages go.
    pub store: Arc<S>,
    /// What sessions keep to.
    pub settings: Settings,
    /// The certificate; without it neither `STARTTLS` nor implicit TLS can be had.
    pub tls: Option<Tls>,
    /// TLS from the first byte.
    pub is_implicit_tls: bool,
    /// What happened.
    pub counts: Counts,
}

impl<S> Smtp<S> {
    /// The reply to a client beyond the limit of connections.
    pub(super) fn busy(&self) -> String {
        format!("421 4.3.2 {} Too busy, closing connection\r\n", self.settings.hostname)
    }
}
