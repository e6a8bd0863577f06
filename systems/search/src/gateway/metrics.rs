//! The gateway's metrics at `GET /metrics`.

use serving::metrics::{Counter, Gauge, Histogram, Registry};

use super::times::Times;
use crate::index::Status;

/// Buckets of times in seconds.
const SECONDS: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 1.0,
];

/// The operations of [`super::route::Operation::name`], and requests that are none.
const OPERATIONS: [&str; 9] = [
    "search",
    "ingest",
    "get",
    "delete",
    "playbook",
    "put_playbook",
    "snapshot",
    "samples",
    "none",
];

/// The metrics; clones count together.
#[derive(Debug, Clone)]
pub(super) struct GatewayMetrics {
    outcomes: Vec<(&'static str, [Counter; 3])>,
    embed: Histogram,
    search: Histogram,
    join: Histogram,
    total: Histogram,
    /// Queries whose vector was cached, and those that were embedded.
    pub hits: Counter,
    /// See [`Self::hits`].
    pub misses: Counter,
    /// Rows taken, refused and deleted.
    pub accepted: Counter,
    /// See [`Self::accepted`].
    pub refused: Counter,
    /// See [`Self::accepted`].
    pub deleted: Counter,
    size: Gauge,
    tombstones: Gauge,
    sequence: Gauge,
    /// Entries of the playbook.
    pub learned: Gauge,
}

impl GatewayMetrics {
    /// Adds them to what a system shows.
    pub fn new(registry: &Registry) -> Self {
        let outcomes = OPERATIONS.map(|operation| {
            let counter = |outcome| {
                let labels = [("operation", operation), ("outcome", outcome)];
                registry.labelled_counter("search_requests_total", "Requests answered.", &labels)
            };
            (operation, ["ok", "refused", "unavailable"].map(counter))
        });
        let cache = |found| {
            let help = "Queries by whether their vector was cached.";
            registry.labelled_counter("search_cache_total", help, &[("found", found)])
        };
        let rows = |what| {
            registry.labelled_counter("search_rows_total", "Rows by outcome.", &[("what", what)])
        };
        let time = |name, help| registry.histogram(name, help, SECONDS);
        Self {
            outcomes: outcomes.into(),
            embed: time("search_embed_seconds", "From text to vector, of queries."),
            search: time("search_index_seconds", "From vector to rows."),
            join: time("search_join_seconds", "Boosts and metadata of the rows."),
            total: time(
                "search_seconds",
                "From the request being read to the answer being rendered.",
            ),
            hits: cache("hit"),
            misses: cache("miss"),
            accepted: rows("accepted"),
            refused: rows("refused"),
            deleted: rows("deleted"),
            size: registry.gauge("search_index_rows", "Rows that can be found."),
            tombstones: registry.gauge(
                "search_index_tombstones",
                "Deleted or replaced rows that still take memory.",
            ),
            sequence: registry.gauge("search_index_sequence", "Number of the index's last write."),
            learned: registry.gauge("search_playbook_entries", "Learned boosts."),
        }
    }

    /// Counts an answer by its status.
    pub fn count(&self, operation: &str, status: u16) {
        let place = match status {
            ..400 => 0,
            503 => 2,
            _ => 1,
        };
        if let Some((_, outcomes)) = self.outcomes.iter().find(|(name, _)| *name == operation) {
            outcomes[place].one();
        }
    }

    /// Records a search.
    pub fn record(&self, times: &Times) {
        let Times { embed, search, join, gateway } = *times;
        for (histogram, time_ns) in [
            (&self.embed, embed),
            (&self.search, search),
            (&self.join, join),
            (&self.total, gateway),
        ] {
            histogram.record(time_ns as f64 / 1e9);
        }
    }

    /// Shows how much the index holds.
    pub fn show(&self, status: &Status) {
        for (gauge, value) in [
            (&self.size, status.size),
            (&self.tombstones, status.tombstones),
            (&self.sequence, status.sequence),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_outcomes() {
        let registry = Registry::default();
        let figures = GatewayMetrics::new(&registry);
        for (operation, status) in
            [("search", 200), ("search", 400), ("search", 503), ("none", 404)]
        {
            figures.count(operation, status);
        }
        figures.show(&Status { size: 7, tombstones: 2, sequence: 9 });
        let text = registry.render();
        for line in [
            "search_requests_total{operation=\"search\",outcome=\"ok\"} 1",
            "search_requests_total{operation=\"search\",outcome=\"refused\"} 1",
            "search_requests_total{operation=\"search\",outcome=\"unavailable\"} 1",
            "search_requests_total{operation=\"none\",outcome=\"refused\"} 1",
            "search_index_rows 7",
            "search_index_tombstones 2",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
