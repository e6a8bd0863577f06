//! What one subscription needs, over whichever bus.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::arrivals::Arrivals;

/// What all connections write into; held for a delivery at a time.
pub(super) type SharedArrivals = Arc<Mutex<Arrivals>>;

/// Reports whether a subscription is in effect.
pub(super) type ReadySender = mpsc::UnboundedSender<Result<(), String>>;

/// One subscription and where it records its deliveries.
#[derive(Debug)]
pub(super) struct SubscriptionTask {
    pub registry: String,
    pub namespace: String,
    pub pattern: String,
    /// Under which what is stored for it is kept while it is away.
    pub name: String,
    pub token: Option<String>,
    pub arrivals: SharedArrivals,
    pub ready: ReadySender,
}
