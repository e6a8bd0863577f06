//! How a connection comes to its end, as its streams see it.

use std::cell::Cell;

use tokio::sync::Notify;

/// What is known of a connection's peer and end; shared by the connection, its task and its streams.
#[derive(Debug, Default)]
pub struct ConnectionEnd {
    has_come: Cell<bool>,
    speaks_http1: Cell<bool>,
    notify: Notify,
}

impl ConnectionEnd {
    /// The connection's task is over.
    pub fn come(&self) {
        self.has_come.set(true);
        self.notify.notify_waiters();
    }

    /// Whether the connection's task is over.
    pub fn has_come(&self) -> bool {
        self.has_come.get()
    }

    /// Resolves when the connection's task is over.
    pub async fn comes(&self) {
        let told = self.notify.notified();
        if !self.has_come() {
            told.await;
        }
    }

    /// The first bytes of the peer were those of another version of the protocol.
    pub fn note_http1(&self) {
        self.speaks_http1.set(true);
    }

    /// Whether the peer speaks another version of the protocol.
    pub fn speaks_http1(&self) -> bool {
        self.speaks_http1.get()
    }
}
