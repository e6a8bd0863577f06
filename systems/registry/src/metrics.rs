//! The registry's metrics at `GET /metrics`.

use serving::metrics::{Counter, Gauge, Histogram, Registry};

use crate::bus::{Outcome, Status};
use crate::store::Figure;

/// Buckets of enumeration times in seconds; the alert's threshold is 20 ms.
const SECONDS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0];
/// Buckets of multicasts by number of targets.
const TARGETS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1_000.0, 3_000.0, 10_000.0, 100_000.0];

/// The metrics; clones share their values.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Registered identities, from the store.
    pub identities: Gauge,
    /// Registrations that were accepted.
    pub registrations: Counter,
    /// Identities that have expired.
    pub expired: Counter,
    /// Time that the store took to enumerate.
    pub enumerate_seconds: Histogram,
    /// 1 while the store answers.
    pub store_available: Gauge,
    /// 1 while the bus accepts messages.
    pub bus_available: Gauge,
    delivered: Histogram,
    statuses: [(Status, Counter); 4],
    figures: Vec<(&'static str, StoreMetric)>,
}

/// A store's figure as a metric.
#[derive(Debug, Clone)]
enum StoreMetric {
    Counter(Counter),
    Gauge(Gauge),
}

impl Metrics {
    /// Adds them to a system's metrics, together with the store's own figures.
    pub fn new(registry: &Registry, figures: &[Figure]) -> Self {
        let status = |status, label| {
            let help = "Outcomes of messages, one for each recipient.";
            let labels = [("status", label)];
            (status, registry.labelled_counter("registry_deliveries_total", help, &labels))
        };
        Self {
            identities: registry.gauge("registry_identities", "Registered identities."),
            registrations: registry
                .counter("registry_registrations_total", "Accepted registrations."),
            expired: registry.counter("registry_expired_total", "Identities that expired."),
            enumerate_seconds: registry.histogram(
                "registry_enumerate_seconds",
                "How long enumerations took.",
                SECONDS,
            ),
            store_available: registry
                .gauge("registry_store_available", "Whether the store answers."),
            bus_available: registry
                .gauge("registry_bus_available", "Whether the bus takes messages."),
            delivered: registry.histogram(
                "registry_multicast_delivered",
                "Recipients to whom a multicast was delivered.",
                TARGETS,
            ),
            figures: figures
                .iter()
                .map(|figure| (figure.name, store_metric(registry, figure)))
                .collect(),
            statuses: [
                status(Status::Delivered, "delivered"),
                status(Status::Pending, "pending"),
                status(Status::Failed, "failed"),
                status(Status::Timeout, "timeout"),
            ],
        }
    }

    /// Updates the figures of the store.
    pub fn refresh(&self, figures: &[Figure]) {
        for figure in figures {
            let known = self.figures.iter().find(|(name, _)| *name == figure.name);
            match known {
                Some((_, StoreMetric::Counter(counter))) => {
                    counter.add(figure.value.saturating_sub(counter.get()));
                }
                Some((_, StoreMetric::Gauge(gauge))) => {
                    gauge.set(i64::try_from(figure.value).unwrap_or(i64::MAX));
                }
                None => {}
            }
        }
    }

    /// Counts the outcomes of a multicast.
    pub fn count(&self, outcomes: &[Outcome]) {
        let count = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
        for (status, counter) in &self.statuses {
            counter.add(count(*status) as u64);
        }
        self.delivered.record(count(Status::Delivered) as f64);
    }
}

fn store_metric(registry: &Registry, figure: &Figure) -> StoreMetric {
    if figure.name.ends_with("_total") {
        StoreMetric::Counter(registry.counter(figure.name, figure.help))
    } else {
        StoreMetric::Gauge(registry.gauge(figure.name, figure.help))
    }
}
