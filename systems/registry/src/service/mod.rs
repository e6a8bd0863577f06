//! The operations of the registry, independent of HTTP, store and bus.
//!
//! This module combines the namespace's schema and quotas with the store and the bus; it does not
//! know HTTP. A multicast's targets are the identities that are registered when the store is
//! queried.

mod operations;
mod quotas;
mod schemas;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};

pub use operations::{Multicast, MulticastResult, Register};
pub use quotas::{MulticastLimiter, Quotas};

use crate::bus::Bus;
use crate::metrics::Metrics;
use crate::store::{Expired, Store};
use schemas::SchemaCache;

/// A registry over one store and one bus.
#[derive(Debug)]
pub struct Service<S, B> {
    store: S,
    bus: Arc<B>,
    quotas: Quotas,
    limiter: MulticastLimiter,
    schemas: SchemaCache,
    metrics: Metrics,
    coordinator: String,
    messages: AtomicU64,
}

impl<S: Store, B: Bus> Service<S, B> {
    /// A registry; the ids of its messages contain `coordinator`.
    pub fn new(store: S, bus: Arc<B>, quotas: Quotas, metrics: Metrics, coordinator: &str) -> Self {
        Self {
            store,
            bus,
            quotas,
            limiter: MulticastLimiter::new(quotas.multicasts_in_flight),
            schemas: SchemaCache::default(),
            metrics,
            coordinator: coordinator.to_owned(),
            messages: AtomicU64::new(0),
        }
    }

    /// Its quotas.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Removes expired identities and their subscriptions, counts the others, and checks store and
    /// bus. Call it every [`EXPIRY_PERIOD`]. While the store is unavailable no identity expires
    /// there, and reads fail anyway.
    pub async fn expire(&self) {
        let expired = self.store.expire(self.store.now()).await;
        self.metrics.store_available.set(expired.is_ok().into());
        self.metrics.bus_available.set(self.bus.check().is_ok().into());
        let Ok(expired) = expired else { return };
        self.metrics.expired.add(expired.len() as u64);
        let all = self.store.counts().into_iter().map(|(_, count)| count).sum::<u64>();
        self.metrics.identities.set(i64::try_from(all).unwrap_or(i64::MAX));
        self.metrics.refresh(&self.store.figures());
        let forgetting = stream::iter(&expired);
        forgetting.for_each_concurrent(FORGOTTEN_AT_ONCE, |gone| self.forget(gone)).await;
    }

    /// Ends the subscription of an expired identity, unless the identity has registered again
    /// meanwhile: then its subscription and stored deliveries are kept.
    async fn forget(&self, gone: &Expired) {
        let back = self.store.get(&gone.namespace, &gone.name).await;
        if !matches!(back, Ok(Some(_))) {
            self.bus.forget(&gone.namespace, &gone.name).await;
        }
    }

    fn next_message(&self) -> String {
        format!("{}-m{}", self.coordinator, self.messages.fetch_add(1, Ordering::Relaxed))
    }
}

/// Number of subscriptions that are ended at the same time if the bus must ask a server.
const FORGOTTEN_AT_ONCE: usize = 64;

/// Interval of [`Service::expire`]. An expired identity is invisible at once; its subscription ends
/// at most this much later.
pub const EXPIRY_PERIOD: std::time::Duration = std::time::Duration::from_millis(50);

#[cfg(test)]
mod tests;
