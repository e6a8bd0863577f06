//! Carries messages to subscriptions and brings acknowledgements back.
//!
//! A bus gets a message and its targets, finds their subscriptions, makes one delivery for each (or
//! several, if one would be too large), sends them concurrently, and returns the outcome of each
//! target by the deadline.
//!
//! With [`embedded`], receivers connect to the registry itself. With [`nats`], receivers and
//! registry connect to a NATS server.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serving::metrics::{Counter, Gauge, Registry};

use crate::api_error::ApiError;
use crate::message::{Message, Semantics};

pub mod embedded;
pub mod nats;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod temp_folder;

/// The outcome of a message for one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Acknowledged by the recipient; for at-most-once: accepted by a bus that has a subscriber for
    /// the recipient.
    Delivered,
    /// Durably stored for a recipient that is absent or has not acknowledged yet.
    Pending,
    /// Not sent or refused, and not stored; the reason says why.
    Failed,
    /// Sent, not acknowledged by the deadline, and not stored.
    Timeout,
}

/// One target's outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The target.
    pub identity: Arc<str>,
    /// Its outcome.
    pub status: Status,
    /// Why it was not delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// Counts of a bus, in addition to the outcomes that its caller sees.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Present receivers.
    pub subscriptions: Gauge,
    /// Deliveries sent for the first time.
    pub sent: Counter,
    /// Deliveries sent again.
    pub resent: Counter,
    /// Deliveries acknowledged in time, or while stored.
    pub acknowledged: Counter,
    /// Acknowledgements of unknown deliveries, or of deliveries to another receiver.
    pub strayed: Counter,
    /// Deliveries refused because a subscriber's queue was full.
    pub refused: Counter,
    /// Presence messages dropped because too many were waiting.
    pub shed: Counter,
    /// Deliveries stored for a recipient that was absent or did not acknowledge in time.
    pub stored: Counter,
}

impl Counts {
    /// Counts that are registered with a system's metrics.
    pub fn new(metrics: &Registry) -> Self {
        let counter = |name, help| metrics.counter(name, help);
        Self {
            subscriptions: metrics.gauge("registry_subscriptions", "Connected receivers."),
            sent: counter("registry_deliveries_sent_total", "Deliveries handed over."),
            resent: counter("registry_deliveries_resent_total", "Deliveries handed over again."),
            acknowledged: counter("registry_acknowledged_total", "Deliveries acknowledged."),
            strayed: counter(
                "registry_acks_strayed_total",
                "Acknowledgements of unknown deliveries.",
            ),
            refused: counter("registry_queue_full_total", "Deliveries refused by a full queue."),
            shed: counter(
                "registry_presences_shed_total",
                "Presences dropped because too many arrived at once.",
            ),
            stored: counter("registry_deliveries_stored_total", "Deliveries stored for later."),
        }
    }
}

/// Delivers messages.
pub trait Bus: Send + Sync + 'static {
    /// Sends a message to targets in its namespace, and waits at most `timeout` for the outcomes.
    /// There is exactly one outcome for each target, in no particular order; no other target delays
    /// it beyond the deadline. Dropping the future cancels deliveries that were not sent.
    fn multicast(
        &self,
        message: Message,
        targets: Vec<Arc<str>>,
        semantics: Semantics,
        timeout: Duration,
    ) -> impl Future<Output = Vec<Outcome>> + Send;

    /// An identity was removed: ends subscriptions to it alone, and drops their stored deliveries.
    fn forget(&self, namespace: &str, name: &str) -> impl Future<Output = ()> + Send;

    /// Whether a receiver of this namespace is known; its subscription creates the namespace.
    fn serves(&self, namespace: &str) -> bool;

    /// Whether the bus accepts messages now.
    ///
    /// Errors: `UNAVAILABLE` with the reason
    fn check(&self) -> Result<(), ApiError>;

    /// The effective configuration, for the ready line: kind, durability, version of the server, …
    fn effective(&self) -> Value;
}
