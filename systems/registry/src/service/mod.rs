//! The operations of the registry, whatever asks for them and whatever stands behind.
//!
//! Here requests meet the namespace's schema and quotas, the store and the bus; nothing here knows
//! HTTP. A multicast's targets are those registered at the instant at which the store is asked.

mod operations;
mod quotas;
mod schemas;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};

pub use operations::{Multicast, Register, Told};
pub use quotas::{Quotas, Turnstile};

use crate::bus::Bus;
use crate::metrics::Metrics;
use crate::store::{Expired, Store};
use schemas::Schemas;

/// A registry over one store and one bus.
#[derive(Debug)]
pub struct Service<S, B> {
    store: S,
    bus: Arc<B>,
    quotas: Quotas,
    turnstile: Turnstile,
    schemas: Schemas,
    metrics: Metrics,
    coordinator: String,
    messages: AtomicU64,
}

impl<S: Store, B: Bus> Service<S, B> {
    /// A registry that calls itself `coordinator` in the ids of its messages.
    pub fn new(store: S, bus: Arc<B>, quotas: Quotas, metrics: Metrics, coordinator: &str) -> Self {
        Self {
            store,
            bus,
            quotas,
            turnstile: Turnstile::new(quotas.multicasts_in_flight),
            schemas: Schemas::default(),
            metrics,
            coordinator: coordinator.to_owned(),
            messages: AtomicU64::new(0),
        }
    }

    /// What it is bounded by.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Removes whose time is over, with their subscriptions, counts who is left, and looks whether
    /// store and bus are there. To be called every [`EXPIRY_PERIOD`]; while the store is away nobody
    /// expires there, and reads fail anyway.
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

    /// Ends the subscription of somebody who expired, unless they are there again meanwhile: what
    /// they subscribed to, and what was stored for them since, is theirs.
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

/// How many subscriptions are ended at a time, where the bus has to ask a server for it.
const FORGOTTEN_AT_ONCE: usize = 64;

/// How often [`Service::expire`] looks: what has expired is invisible at its instant, and gone
/// with its subscription at most this much later.
pub const EXPIRY_PERIOD: std::time::Duration = std::time::Duration::from_millis(50);

#[cfg(test)]
mod tests;
