//! What was answered, counted by each worker for itself and added up when somebody asks.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use serde_json::{Map, Value};
use serving::observed::Observed;

use super::timeline::End;

/// Under which requests are counted that lead to no route.
pub const NOWHERE: &str = "(no route)";

/// Longest time that is recorded exactly, two hours: twice the longest wait.
const LONGEST_NS: u64 = 7_200_000_000_000;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestOutcome {
    /// An answer with this status, whole or not.
    Status(u16),
    /// No answer, and this in its place.
    To(End),
}

impl fmt::Display for RequestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status}"),
            Self::To(End::Reset) => f.write_str("reset"),
            Self::To(End::Close) => f.write_str("close"),
            Self::To(End::Hang) => f.write_str("hang"),
        }
    }
}

/// How often each.
pub type Counts = BTreeMap<RequestOutcome, u64>;

/// What one worker counts; others look at it only when somebody asks.
#[derive(Debug, Default)]
pub struct Tally {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    rows: HashMap<Arc<str>, Counts>,
    times: Times,
}

/// Times in nanoseconds.
#[derive(Debug, Clone)]
pub struct Times {
    /// From a request's head to its answer's, by request.
    pub service: Histogram<u64>,
    /// From the instant that an answer was due to that at which it was given.
    pub late: Histogram<u64>,
}

impl Default for Times {
    fn default() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST_NS, 3);
        let empty = || empty().expect("the bounds are constants that fit each other");
        Self { service: empty(), late: empty() }
    }
}

impl Tally {
    /// Counts one request, which took so long, of that so much longer than it should.
    pub fn count(&self, route: &Arc<str>, came: RequestOutcome, service_ns: u64, late_ns: u64) {
        let mut inner = self.inner();
        inner.times.service.saturating_record(service_ns);
        inner.times.late.saturating_record(late_ns);
        if let Some(counts) = inner.rows.get_mut(route) {
            *counts.entry(came).or_default() += 1;
        } else {
            inner.rows.insert(Arc::clone(route), Counts::from([(came, 1)]));
        }
    }

    /// Forgets the counts, and with them the routes that are gone; times stay.
    pub fn clear(&self) {
        self.inner().rows.clear();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts of all workers, by route.
pub fn by_route(tallies: &[Tally]) -> BTreeMap<Arc<str>, Counts> {
    let mut all = BTreeMap::<Arc<str>, Counts>::new();
    for tally in tallies {
        for (route, counts) in &tally.inner().rows {
            let row = all.entry(Arc::clone(route)).or_default();
            for (came, count) in counts {
                *row.entry(*came).or_default() += count;
            }
        }
    }
    all
}

/// Counts of all routes together.
pub fn together(rows: &BTreeMap<Arc<str>, Counts>) -> Counts {
    let mut all = Counts::new();
    for (came, count) in rows.values().flatten() {
        *all.entry(*came).or_default() += count;
    }
    all
}

/// Counts as JSON: `{"200":2,"404":1,"total_requests":3}`.
pub fn to_json(counts: &Counts) -> Value {
    let total: u64 = counts.values().sum();
    let mut told: Map<String, Value> =
        counts.iter().map(|(came, count)| (came.to_string(), (*count).into())).collect();
    told.insert("total_requests".to_owned(), total.into());
    told.into()
}

/// What an origin counts beside what every observer does.
pub const COUNTS: [&str; 2] = ["errors", "unanswered"];

/// Counts as an observer tells them: requests, of them those with a status of 500 or above, and those that got none.
pub fn observed(counts: &Counts) -> Observed {
    let sum = |is: fn(&RequestOutcome) -> bool| -> u64 {
        counts.iter().filter(|(came, _)| is(came)).map(|(_, count)| count).sum()
    };
    let values = [
        sum(|came| matches!(came, RequestOutcome::Status(500..))),
        sum(|came| matches!(came, RequestOutcome::To(_))),
    ];
    let detail = COUNTS.iter().zip(values);
    Observed {
        counts: "requests",
        received: sum(|_| true),
        detail: detail.map(|(name, count)| ((*name).to_owned(), count.into())).collect(),
        ..Observed::default()
    }
}

/// Times of all workers.
pub fn times(tallies: &[Tally]) -> Times {
    let mut all = Times::default();
    for tally in tallies {
        let inner = tally.inner();
        let same = "histograms of the same bounds";
        all.service.add(&inner.times.service).expect(same);
        all.late.add(&inner.times.late).expect(same);
    }
    all
}

/// Times as lines of `/metrics`.
pub fn render(times: &Times) -> String {
    let mut text = String::new();
    for (name, help, histogram) in [
        ("origin_service_time_seconds", "From head to head, the wait included.", &times.service),
        ("origin_late_seconds", "How much longer than the wait that was drawn.", &times.late),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} summary");
        for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
            let value = histogram.value_at_quantile(quantile) as f64 / 1e9;
            let _ = writeln!(text, "{name}{{quantile=\"{quantile}\"}} {value}");
        }
        let count = histogram.len();
        let sum = histogram.mean() * count as f64 / 1e9;
        let _ = writeln!(text, "{name}_sum {sum}\n{name}_count {count}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_of_all_workers_are_added_up_by_route_and_together() {
        let tallies = [Tally::default(), Tally::default()];
        let (news, none): (Arc<str>, Arc<str>) = ("/news".into(), NOWHERE.into());
        tallies[0].count(&news, RequestOutcome::Status(200), 1_000, 0);
        tallies[1].count(&news, RequestOutcome::Status(200), 1_000, 0);
        tallies[1].count(&news, RequestOutcome::To(End::Reset), 1_000, 0);
        tallies[1].count(&none, RequestOutcome::Status(406), 1_000, 0);
        let rows = by_route(&tallies);
        assert_eq!(to_json(&rows["/news"]), json!({"total_requests": 3, "200": 2, "reset": 1}));
        assert_eq!(
            to_json(&together(&rows)),
            json!({"total_requests": 4, "200": 2, "406": 1, "reset": 1})
        );
        let observed = observed(&together(&rows));
        assert_eq!((observed.received, observed.detail["unanswered"].as_u64()), (4, Some(1)));
        assert_eq!(observed.detail["errors"], 0);
        tallies.iter().for_each(Tally::clear);
        assert_eq!(to_json(&together(&by_route(&tallies))), json!({"total_requests": 0}));
        assert_eq!(times(&tallies).service.len(), 4);
    }

    #[test]
    fn times_are_told_in_seconds() {
        let tally = Tally::default();
        for _ in 0..4 {
            tally.count(&"/*".into(), RequestOutcome::Status(200), 500_000_000, 64);
        }
        let text = render(&times(&[tally]));
        assert!(text.contains("# TYPE origin_service_time_seconds summary\n"), "{text}");
        assert!(text.contains("origin_service_time_seconds_count 4\n"), "{text}");
        assert!(text.contains("origin_late_seconds{quantile=\"0.99\"} 0.000000064\n"), "{text}");
    }
}
