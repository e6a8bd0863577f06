//! What `/metrics` tells, brought up to date when it is query.

use serving::metrics::{Counter, Gauge, Registry};

use super::ledger::{End, Sums};
use crate::cast::account::Why;

/// A figure: its name, what it is, and where it is found.
type Row = (&'static str, &'static str, Of);
/// Where it is found.
type Of = fn(&Sums) -> u64;

const COUNTERS: [Row; 10] = [
    ("monitor_received_total", "Distinct casts received.", |sums| sums.totals.received),
    ("monitor_received_bytes_total", "Bytes of their payloads.", |sums| sums.totals.bytes),
    ("monitor_duplicates_total", "Casts that came again.", |sums| sums.totals.duplicates),
    ("monitor_out_of_order_total", "Casts that came late.", |sums| sums.totals.out_of_order),
    ("monitor_gaps_total", "Times that numbers were left out.", |sums| sums.totals.gaps),
    (
        "monitor_unbalanced_total",
        "Accounts of casters that did not add up to what was received.",
        |sums| sums.totals.unbalanced,
    ),
    ("monitor_cast_total", "Casts, by the casters' accounts.", |sums| sums.totals.account.cast),
    ("monitor_unexpected_total", "Messages over NATS that are no casts.", |sums| sums.unexpected),
    ("monitor_evicted_total", "Messages that gave way to later ones.", |sums| sums.evicted),
    ("monitor_not_kept_total", "Messages that have no room even alone.", |sums| sums.not_kept),
];

const GAUGES: [Row; 5] = [
    ("monitor_missing", "Numbers left out that have not come.", |sums| sums.totals.missing),
    ("monitor_lost", "Casts that were not received.", |sums| sums.totals.lost),
    ("monitor_senders", "Casters that were ever known.", |sums| sums.senders),
    ("monitor_connected", "Casters that are there.", |sums| sums.connected),
    ("monitor_kept", "Messages that are kept.", |sums| sums.kept),
];

/// The figures of one monitor.
#[derive(Debug)]
pub(super) struct Figures {
    counters: Vec<(Counter, Of)>,
    gauges: Vec<(Gauge, Of)>,
    dropped: Vec<Counter>,
    ends: Vec<Counter>,
}

impl Figures {
    /// Figures that show in this registry.
    pub fn new(registry: &Registry) -> Self {
        let reason =
            |name, help, reason| registry.labelled_counter(name, help, &[("reason", reason)]);
        let dropped = |why: Why| {
            let help = "Casts dropped before they were sent, by the casters' accounts.";
            reason("monitor_dropped_total", help, why.name())
        };
        let ended = |end: End| {
            let help = "Connections of casters that came to their end.";
            reason("monitor_connections_ended_total", help, end.name())
        };
        Self {
            counters: COUNTERS
                .iter()
                .map(|(name, help, of)| (registry.counter(name, help), *of))
                .collect(),
            gauges: GAUGES
                .iter()
                .map(|(name, help, of)| (registry.gauge(name, help), *of))
                .collect(),
            dropped: Why::ALL.into_iter().map(dropped).collect(),
            ends: End::ALL.into_iter().map(ended).collect(),
        }
    }

    /// Brings them up to date; to be called by one at a time.
    pub fn show(&self, sums: &Sums) {
        let raise = |counter: &Counter, now: u64| counter.add(now.saturating_sub(counter.get()));
        for (counter, of) in &self.counters {
            raise(counter, of(sums));
        }
        for (gauge, of) in &self.gauges {
            gauge.set(i64::try_from(of(sums)).unwrap_or(i64::MAX));
        }
        for (counter, now) in self.dropped.iter().zip(sums.totals.account.dropped) {
            raise(counter, now);
        }
        for (counter, now) in self.ends.iter().zip(sums.ends) {
            raise(counter, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_the_sums() {
        let registry = Registry::default();
        let figures = Figures::new(&registry);
        let mut sums = Sums { connected: 2, evicted: 5, ..Sums::default() };
        sums.totals.account.dropped = [1, 0, 3, 0];
        sums.ends[End::Late as usize] = 4;
        figures.show(&sums);
        sums.connected = 1;
        sums.evicted = 6;
        figures.show(&sums);
        let text = registry.render();
        for line in [
            "monitor_connected 1\n",
            "monitor_evicted_total 6\n",
            "monitor_dropped_total{reason=\"full\"} 1\n",
            "monitor_dropped_total{reason=\"oversize\"} 3\n",
            "monitor_connections_ended_total{reason=\"late\"} 4\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
