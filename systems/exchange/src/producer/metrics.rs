//! What a producer counts, by the way that was taken.

use serving::metrics::{Counter, Gauge, Registry};
use shm_channel::Counts;

/// Figures of one way.
#[derive(Debug, Clone)]
pub(super) struct TransportMetrics {
    /// Payloads that were sent.
    pub answered: Counter,
    /// Requests that were refused.
    pub refused: Counter,
}

impl TransportMetrics {
    /// Of the way of this name.
    pub(super) fn new(registry: &Registry, way: &str) -> Self {
        let labels = [("way", way)];
        let help = "Requests answered with a payload.";
        let answered = registry.labelled_counter("exchange_answered_total", help, &labels);
        let help = "Refused requests.";
        let refused = registry.labelled_counter("exchange_refused_total", help, &labels);
        Self { answered, refused }
    }

    /// Counts an outcome.
    pub(super) fn count<T, E>(&self, outcome: &Result<T, E>) {
        if outcome.is_ok() { self.answered.one() } else { self.refused.one() }
    }
}

/// What the channel knows of its clients.
#[derive(Debug, Clone)]
pub(super) struct ClientMetrics {
    living: Gauge,
    admitted: Gauge,
    refused: Gauge,
    damaged: Gauge,
}

impl ClientMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            living: registry.gauge("shm_clients", "Connected clients of the channel."),
            admitted: registry.gauge("shm_admitted", "Accepted clients of the channel."),
            refused: registry.gauge("shm_refused", "Refused connections to the channel."),
            damaged: registry
                .gauge("shm_damaged", "Clients disconnected because they wrote invalid data."),
        }
    }

    /// Brings them up to date.
    pub(super) fn set(&self, counts: Counts) {
        let Counts { living, admitted, refused, damaged } = counts;
        let gauges = [&self.living, &self.admitted, &self.refused, &self.damaged];
        for (gauge, count) in gauges.into_iter().zip([living, admitted, refused, damaged]) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
