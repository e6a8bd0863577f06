//! Carries messages to subscriptions and brings acknowledgements back.
//!
//! A bus takes a message and its targets, finds their subscriptions, makes one delivery for each
//! (or several, if one would be too large), sends them concurrently, and returns the outcome of
//! each target by the deadline.
//!
//! With [`embedded`] recipients connect to the registry itself, with [`nats`] both connect to a
//! NATS server.

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

/// What became of a message to one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Acknowledged by the recipient; for at-most-once: accepted by a bus that has a subscriber
    /// for it.
    Delivered,
    /// Durably stored for a recipient that is away or did not answer yet.
    Pending,
    /// Not sent, or refused, and not stored; the reason says why.
    Failed,
    /// Sent, not acknowledged by the deadline, and not stored.
    Timeout,
}

/// One target's outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Who.
    pub identity: Arc<str>,
    /// What became of it.
    pub status: Status,
    /// Why it is not delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// What a bus counts, beside the outcomes that its caller sees.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Receivers that are there.
    pub subscriptions: Gauge,
    /// Deliveries handed over for the first time.
    pub sent: Counter,
    /// Deliveries handed over again.
    pub resent: Counter,
    /// Deliveries acknowledged in time, or while stored.
    pub acknowledged: Counter,
    /// Acknowledgements of unknown deliveries, or of deliveries to another receiver.
    pub strayed: Counter,
    /// Deliveries that a subscriber's full queue refused.
    pub refused: Counter,
    /// Presences dropped because too many were waiting to be dealt with.
    pub shed: Counter,
    /// Deliveries stored for a recipient that was away or did not acknowledge in time.
    pub stored: Counter,
}

impl Counts {
    /// Counts that show among a system's metrics.
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

/// Carries messages.
pub trait Bus: Send + Sync + 'static {
    /// Sends a message to targets of its namespace and waits, at most so long, for what becomes of
    /// it. The outcomes are exactly the targets, in no order; no other target delays them beyond
    /// the deadline. Dropping the future cancels what was not sent.
    fn multicast(
        &self,
        message: Message,
        targets: Vec<Arc<str>>,
        semantics: Semantics,
        timeout: Duration,
    ) -> impl Future<Output = Vec<Outcome>> + Send;

    /// An identity is gone: a subscription to it alone ends, and what waits for it is dropped.
    fn forget(&self, namespace: &str, name: &str) -> impl Future<Output = ()> + Send;

    /// Whether a receiver of this namespace is known: its subscription makes the namespace be.
    fn serves(&self, namespace: &str) -> bool;

    /// Whether the bus can take messages now.
    ///
    /// Errors: `UNAVAILABLE` with the reason
    fn check(&self) -> Result<(), ApiError>;

    /// What is in force, for the ready line: kind, durability, version of the server, …
    fn effective(&self) -> Value;
}
