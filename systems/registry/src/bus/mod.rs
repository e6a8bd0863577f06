//! Carries messages to subscriptions and brings acknowledgements back.
//!
//! A bus is told a message and its targets; it knows who serves them, makes one delivery for each
//! subscription concerned (or several, where one would be too large), sends them without waiting
//! for one another, and tells what became of each target by the deadline.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::fault::Fault;
use crate::message::{Message, Semantics};

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

    /// Whether the bus can take messages now.
    ///
    /// Errors: `UNAVAILABLE` with the reason
    fn check(&self) -> Result<(), Fault>;

    /// What is in force, for the ready line: kind, durability, version of the server, …
    fn effective(&self) -> Value;
}
