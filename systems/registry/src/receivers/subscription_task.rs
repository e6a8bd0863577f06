//! The inputs of one subscription, over any bus.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::arrivals::Arrivals;

/// The counts that all connections write to; locked for one delivery at a time.
pub(super) type SharedArrivals = Arc<Mutex<Arrivals>>;

/// Reports whether a subscription is active.
pub(super) type ReadySender = mpsc::UnboundedSender<Result<(), String>>;

/// One subscription and where it records its deliveries.
#[derive(Debug)]
pub(super) struct SubscriptionTask {
    pub registry: String,
    pub namespace: String,
    pub pattern: String,
    /// Its name: deliveries are stored under it while it is absent.
    pub name: String,
    pub token: Option<String>,
    pub arrivals: SharedArrivals,
    pub ready: ReadySender,
}
