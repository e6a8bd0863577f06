//! The proxy's counts, as `/_proxy/metrics` exports them.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use proxying::Counts;
use serving::metrics::{Counter, Gauge, Registry};

use super::routes::Routes;
use super::store::Store;

/// Where an answer came from, as `x-cache` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheStatus {
    /// Stored, and fresh.
    Hit,
    /// From the upstream, and stored if it may be.
    Miss,
    /// Stored, and still the same as the upstream says.
    Revalidated,
    /// Stored by another request that this one waited for.
    Collapsed,
    /// Stored, no longer fresh, and in the place of a failure.
    Stale,
    /// From the upstream, as nothing stored can answer it.
    Pass,
    /// From the upstream, because the cache was bypassed.
    Bust,
    /// The proxy's own answer.
    Nothing,
}

impl CacheStatus {
    const ALL: [Self; 8] = [
        Self::Hit,
        Self::Miss,
        Self::Revalidated,
        Self::Collapsed,
        Self::Stale,
        Self::Pass,
        Self::Bust,
        Self::Nothing,
    ];

    /// Its name in `x-cache`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Revalidated => "revalidated",
            Self::Collapsed => "collapsed",
            Self::Stale => "stale",
            Self::Pass => "pass",
            Self::Bust => "bust",
            Self::Nothing => "none",
        }
    }
}

/// All counts of a proxy.
#[derive(Debug)]
pub(super) struct Tally {
    registry: Registry,
    /// What became of requests to the upstream.
    pub upstream: Arc<Counts>,
    answers: [Counter; CacheStatus::ALL.len()],
    pub not_modified: Counter,
    pub stored: Counter,
    pub given_up: Counter,
    pub dropped: Counter,
    pub forgotten: Counter,
    pub shed: Counter,
    pub broken_circuits: Counter,
    pub turned_away: Counter,
    pub failed_handshakes: Counter,
    pub given_up_streams: Counter,
    pub lost_lines: Counter,
    pub clients: Gauge,
    pub under_way: Gauge,
    stored_bytes: Gauge,
    stored_keys: Gauge,
    filling_bytes: Gauge,
}

/// One unit of a bounded gauge; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit(Gauge);

impl Permit {
    /// Takes one, if fewer than `most` are taken. Two that try for the last one at the same moment may both fail.
    pub fn take(gauge: &Gauge, most: u64) -> Option<Self> {
        gauge.add(1);
        let place = Self(gauge.clone());
        u64::try_from(gauge.get()).is_ok_and(|taken| taken <= most).then_some(place)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

impl Tally {
    pub fn new() -> Self {
        let registry = Registry::default();
        let answer = |how: CacheStatus| {
            let help = "Answers by where they came from.";
            registry.labelled_counter("proxy_answers_total", help, &[("cache", how.name())])
        };
        let answers = CacheStatus::ALL.map(answer);
        let counter = |name, help| registry.counter(name, help);
        let gauge = |name, help| registry.gauge(name, help);
        Self {
            upstream: Arc::default(),
            answers,
            not_modified: counter(
                "proxy_not_modified_total",
                "Answers of 304 given from the cache.",
            ),
            stored: counter("proxy_stored_total", "Answers put into the cache."),
            given_up: counter(
                "proxy_given_up_total",
                "Answers passed on whose storing was given up: too large, no room, broken off.",
            ),
            dropped: counter("proxy_dropped_total", "Keys dropped for want of room."),
            forgotten: counter("proxy_forgotten_total", "Keys forgotten after an unsafe request."),
            shed: counter("proxy_shed_total", "Requests refused as too many were under way."),
            broken_circuits: counter(
                "proxy_breaker_refused_total",
                "Requests that a breaker kept from the upstream.",
            ),
            turned_away: counter(
                "proxy_turned_away_total",
                "Connections closed at once because too many were open.",
            ),
            failed_handshakes: counter(
                "proxy_tls_failures_total",
                "Connections closed as their TLS handshake failed or took too long.",
            ),
            given_up_streams: counter(
                "proxy_streams_given_up_total",
                "Streams of HTTP/2 reset as their client took nothing of an answer.",
            ),
            lost_lines: counter("proxy_log_lost_total", "Lines that the access log has lost."),
            clients: gauge("proxy_clients", "Connections of clients open now."),
            under_way: gauge("proxy_under_way", "Requests under way now."),
            stored_bytes: gauge("proxy_stored_bytes", "Bytes in the cache."),
            stored_keys: gauge("proxy_stored_keys", "Keys in the cache."),
            filling_bytes: gauge("proxy_filling_bytes", "Bytes of answers on their way into it."),
            registry,
        }
    }

    /// Counts how often a part that is kept beside the proxy was started again.
    pub fn restarts(&self, part: &str) -> Counter {
        let help = "CacheStatus often a part beside the proxy was started again.";
        self.registry.labelled_counter("proxy_part_restarts_total", help, &[("part", part)])
    }

    /// Counts an answer.
    pub fn answer(&self, how: CacheStatus) {
        self.answers[how as usize].one();
    }

    /// All of it in Prometheus's text format.
    pub fn render(&self, store: &Store, routes: &Routes) -> String {
        let (bytes, keys, filling) = store.look();
        for (gauge, value) in
            [(&self.stored_bytes, bytes), (&self.stored_keys, keys), (&self.filling_bytes, filling)]
        {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = self.registry.render();
        for (name, help, value) in self.upstream.list() {
            // What comes and goes is named so; all else is counted up.
            let goes_down = ["open", "idle"].contains(&name) || name.ends_with("waiting");
            let (suffix, kind) = if goes_down { ("", "gauge") } else { ("_total", "counter") };
            family(&mut text, &format!("proxy_upstream_{name}{suffix}"), help, kind);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "proxy_upstream_{name}{suffix} {value}");
        }
        let routes = routes.look(Instant::now());
        let help = "Whether a route's breaker is closed (0), half open (1) or open (2).";
        family(&mut text, "proxy_breaker_state", help, "gauge");
        for (route, position, _) in &routes {
            let route = escaped(route);
            let _ = writeln!(text, "proxy_breaker_state{{route=\"{route}\"}} {}", *position as u8);
        }
        family(&mut text, "proxy_breaker_errors", "Errors within a breaker's window.", "gauge");
        for (route, _, errors) in &routes {
            let route = escaped(route);
            let _ = writeln!(text, "proxy_breaker_errors{{route=\"{route}\"}} {errors}");
        }
        text
    }
}

/// The lines before the figures of one name.
pub(super) fn family(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// As the exposition format wants labels, and JSON texts; a path has no line feeds.
pub(super) fn escaped(route: &str) -> String {
    route.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_a_word_and_a_count_of_its_own() {
        let tally = Tally::new();
        for (times, how) in CacheStatus::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| tally.answer(how));
        }
        let store = Store::new(1 << 20, Counter::default());
        let text = tally.render(&store, &Routes::new(None, Vec::new()));
        for (times, how) in CacheStatus::ALL.into_iter().enumerate() {
            let line = format!("proxy_answers_total{{cache=\"{}\"}} {}\n", how.name(), times + 1);
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains("# TYPE proxy_upstream_open gauge\nproxy_upstream_open 0\n"));
        assert!(text.contains("proxy_upstream_requests_total 0\n"));
    }

    #[test]
    fn places_are_given_back() {
        let gauge = Gauge::default();
        let one = Permit::take(&gauge, 1);
        assert!(one.is_some() && Permit::take(&gauge, 1).is_none());
        drop(one);
        assert!(Permit::take(&gauge, 1).is_some());
        assert_eq!(gauge.get(), 0);
    }
}
