//! Counters, gauges and histograms as Prometheus text; a registry is a value, never a global.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Media type of the text that [`Registry::render`] gives.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counts upward. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// `more` more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Goes up and down. Clones move together.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// Moves by `change`.
    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }

    /// Puts it at `value`.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The present value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts values by upper bounds. Clones count together.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    bounds: &'static [f64],
    /// One a bound, and one for what is beyond all.
    counts: Vec<AtomicU64>,
    /// In millionths of the unit.
    sum_micro: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Buckets { bounds, counts, sum_micro: AtomicU64::new(0) }))
    }

    /// Counts one value, in the unit of the bounds; a negative one counts as zero.
    pub fn record(&self, value: f64) {
        let bucket = self.0.bounds.partition_point(|bound| *bound < value);
        self.0.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.0.sum_micro.fetch_add((value.max(0.0) * 1e6) as u64, Ordering::Relaxed);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn render(&self, name: &str, text: &mut String) {
        let mut below = 0;
        let bounds = self.0.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.0.counts) {
            below += count.load(Ordering::Relaxed);
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let sum = self.0.sum_micro.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "{name}_sum {sum}\n{name}_count {below}");
    }
}

#[derive(Debug)]
enum Metric {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Metric {
    fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

#[derive(Debug)]
struct Entry {
    name: &'static str,
    help: &'static str,
    labels: String,
    metric: Metric,
}

/// All metrics of one system. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Registry {
    /// Adds a counter; its name ends in `_total` by custom.
    pub fn counter(&self, name: &'static str, help: &'static str) -> Counter {
        self.labelled_counter(name, help, &[])
    }

    /// Adds a counter with labels; give those of one name the same help.
    pub fn labelled_counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
    ) -> Counter {
        let counter = Counter::default();
        let labels = render_labels(labels);
        self.push(Entry { name, help, labels, metric: Metric::Counter(counter.clone()) });
        counter
    }

    /// Adds a gauge.
    pub fn gauge(&self, name: &'static str, help: &'static str) -> Gauge {
        let gauge = Gauge::default();
        let metric = Metric::Gauge(gauge.clone());
        self.push(Entry { name, help, labels: String::new(), metric });
        gauge
    }

    /// Adds a histogram over these upper bounds, which ascend.
    pub fn histogram(
        &self,
        name: &'static str,
        help: &'static str,
        bounds: &'static [f64],
    ) -> Histogram {
        let histogram = Histogram::new(bounds);
        let metric = Metric::Histogram(histogram.clone());
        self.push(Entry { name, help, labels: String::new(), metric });
        histogram
    }

    /// The text that `GET /metrics` answers: one family a name, in the order of first addition.
    pub fn render(&self) -> String {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut done: Vec<&str> = Vec::new();
        for first in entries.iter() {
            if done.contains(&first.name) {
                continue;
            }
            done.push(first.name);
            let (name, help, kind) = (first.name, first.help, first.metric.kind());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for entry in entries.iter().filter(|entry| entry.name == name) {
                let value = match &entry.metric {
                    Metric::Counter(counter) => counter.get().to_string(),
                    Metric::Gauge(gauge) => gauge.get().to_string(),
                    Metric::Histogram(histogram) => {
                        histogram.render(name, &mut text);
                        continue;
                    }
                };
                let _ = writeln!(text, "{name}{} {value}", entry.labels);
            }
        }
        text
    }

    fn push(&self, entry: Entry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

fn render_labels(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escape(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// Backslash, quote and line feed, as the exposition format 0.0.4 wants them.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_rendered_once_with_their_labels() {
        let registry = Registry::default();
        let good = registry.labelled_counter("a_total", "Things.", &[("kind", "go\"od")]);
        let open = registry.gauge("open", "Open things.");
        registry.labelled_counter("a_total", "Things.", &[("kind", "bad")]).one();
        good.add(41);
        good.clone().one();
        open.add(3);
        open.add(-1);
        let expect = "# HELP a_total Things.\n# TYPE a_total counter\n\
                      a_total{kind=\"go\\\"od\"} 42\na_total{kind=\"bad\"} 1\n\
                      # HELP open Open things.\n# TYPE open gauge\nopen 2\n";
        assert_eq!(registry.render(), expect);
    }

    #[test]
    fn a_value_counts_below_each_bound_that_holds_it() {
        let registry = Registry::default();
        let sizes = registry.histogram("size", "Sizes.", &[1.0, 2.5]);
        for size in [0.5, 1.0, 2.0, 7.25] {
            sizes.record(size);
        }
        let expect = "# HELP size Sizes.\n# TYPE size histogram\nsize_bucket{le=\"1\"} 2\n\
                      size_bucket{le=\"2.5\"} 3\nsize_bucket{le=\"+Inf\"} 4\n\
                      size_sum 10.75\nsize_count 4\n";
        assert_eq!(registry.render(), expect);
    }

    #[test]
    fn two_registries_know_nothing_of_each_other() {
        let (one, two) = (Registry::default(), Registry::default());
        one.counter("a_total", "Things.").one();
        assert_eq!(two.render(), "");
    }
}
