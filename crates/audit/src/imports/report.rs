//! The contents of another tool's report: one model for every format. A field that the report omits
//! is absent; the rules that need it stay silent.
//!
//! The same form is used for figures typed in by hand: see [`super::FIELDS`].
//!
//! Units:  seconds, bytes, 1/s and ratios in [`Figure`]s; texts carry their units

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use super::claims::{Claim, Headroom, Limit};
use super::figure::{self, Figure, time_field};

/// A report.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    /// `proofload-figures/1` when typed in by hand.
    pub format: String,
    /// The tool that made it.
    pub tool: String,
    /// Names of `levels` that were varied on purpose.
    pub factors: Vec<String>,
    /// Limits that were declared before the run: `p99`, or `Multicast p99`.
    pub targets: BTreeMap<String, Limit>,
    /// The hypothesis that the report states.
    pub hypothesis: Option<String>,
    /// Its conclusion on that hypothesis.
    pub conclusion: Option<String>,
    /// Figures, data and sections that its text refers to.
    pub announced: Vec<String>,
    /// Those of them that the report contains.
    pub shown: Vec<String>,
    /// The claims of its text.
    pub claims: Vec<Claim>,
    /// The headroom that it states.
    pub headroom: Option<Headroom>,
    /// In the order of the report.
    pub runs: Vec<Run>,
}

/// One run of the tool.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// What the report calls it.
    pub name: String,
    /// Its identity.
    pub id: Option<String>,
    /// Identity of the raw data that the report links to.
    pub linked_id: Option<String>,
    /// Begin, in seconds since 1970.
    #[serde(deserialize_with = "instant")]
    pub started_at: Option<f64>,
    /// End, in seconds since 1970.
    #[serde(deserialize_with = "instant")]
    pub ended_at: Option<f64>,
    /// Values of the factors.
    pub levels: BTreeMap<String, String>,
    /// Amount of a treatment; 0 is the baseline.
    pub dose: Option<f64>,
    /// Everything else that could differ between runs: build, network, machine, payload.
    pub context: BTreeMap<String, String>,
    /// Limits as the report states them.
    pub declared: BTreeMap<String, String>,
    /// The same limits as read back from the system.
    pub effective: BTreeMap<String, String>,
    /// How the load was made.
    pub model: Option<LoadModel>,
    /// Connections or workers of a closed load, requests in flight at most.
    pub workers: Option<f64>,
    /// Users with a think time.
    pub users: Option<f64>,
    /// Think time, or a worker's pause after each request; for a range, its midpoint.
    #[serde(deserialize_with = "think")]
    pub think: Option<f64>,
    /// Requested rate, per second.
    pub target_rate: Option<Figure>,
    /// Servers that shared the load.
    pub servers: Option<f64>,
    /// Requested length.
    #[serde(deserialize_with = "time_field")]
    pub asked_duration: Option<Figure>,
    /// Whole length, as the tool reports it.
    #[serde(deserialize_with = "time_field")]
    pub duration: Option<Figure>,
    /// Time in which requests were sent.
    #[serde(deserialize_with = "time_field")]
    pub send_window: Option<Figure>,
    /// Whether the send window ends with the last send: N requests then span N − 1 intervals.
    pub first_to_last: bool,
    /// Time-out of a request.
    #[serde(deserialize_with = "time_field")]
    pub timeout: Option<Figure>,
    /// The start of a measured time.
    pub measured_from: Option<MeasuredFrom>,
    /// Whether more of an answer was checked than its status.
    pub content_checked: Option<bool>,
    /// Whether the tool can count failures at all in this mode.
    pub failures_counted: Option<bool>,
    /// The capacity that the report states, per second.
    pub capacity: Option<Figure>,
    /// Speed of the link, in bits a second.
    pub link_bits: Option<f64>,
    /// Whether load generator and system ran on one machine.
    pub same_machine: Option<bool>,
    /// Share of its processors that the generator used.
    pub generator_cpu: Option<Figure>,
    /// Whether the figures exclude the warm-up.
    pub warm_up_left_out: Option<bool>,
    /// Bytes that the system stored during the run.
    pub stored_bytes: Option<Figure>,
    /// Memory of the system's machine.
    pub memory_bytes: Option<Figure>,
    /// Kind of the system's machine, such as `t3.micro`.
    pub instance: Option<String>,
    /// When the system was built, in seconds since 1970.
    #[serde(deserialize_with = "instant")]
    pub built_at: Option<f64>,
    /// When the report was written, in seconds since 1970.
    #[serde(deserialize_with = "instant")]
    pub reported_at: Option<f64>,
    /// One row for each operation.
    pub rows: Vec<Row>,
    /// The total row.
    pub total: Option<Row>,
    /// Requests over time.
    pub intervals: Vec<Period>,
}

/// One row of figures.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// The operation.
    pub name: String,
    /// Requests.
    pub n: Option<u64>,
    /// Those that succeeded.
    pub ok: Option<u64>,
    /// Those that failed.
    pub failed: Option<u64>,
    /// Those that failed, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// Requests a second.
    pub rate: Option<Figure>,
    /// Successful requests a second.
    pub goodput: Option<Figure>,
    /// Share that succeeded.
    pub ok_share: Option<Figure>,
    /// Share that failed.
    pub failed_share: Option<Figure>,
    /// Least time.
    #[serde(deserialize_with = "time_field")]
    pub min: Option<Figure>,
    /// Mean time.
    #[serde(deserialize_with = "time_field")]
    pub mean: Option<Figure>,
    /// Standard deviation of the times.
    #[serde(deserialize_with = "time_field")]
    pub stdev: Option<Figure>,
    /// Greatest time.
    #[serde(deserialize_with = "time_field")]
    pub max: Option<Figure>,
    /// Quantiles of the times, ascending.
    #[serde(deserialize_with = "quantiles")]
    pub quantiles: Vec<(f64, Figure)>,
    /// Whether the tool computes a quantile by interpolating between two requests.
    pub interpolated: bool,
    /// Requests with a measured time.
    pub timed: Option<u64>,
    /// Resolution of the tool's own histogram in seconds, if it is coarse.
    pub resolution: Option<f64>,
    /// How far the share below a quantile may be off, if the tool estimates it.
    pub rank_error: f64,
    /// Means of the parts that add up to the mean time.
    pub parts: Vec<(String, Figure)>,
    /// Bytes received.
    pub bytes_total: Option<Figure>,
    /// Bytes received for each request.
    pub bytes_mean: Option<Figure>,
    /// Bytes received per second.
    pub bytes_rate: Option<Figure>,
    /// The size of an answer that the report states.
    pub bytes_nominal: Option<Figure>,
    /// Encoding of the answers, such as `gzip`.
    pub encoding: Option<String>,
    /// How many different requests were sent.
    pub distinct: Option<u64>,
    /// The items that the requests carried, if one request stands for many.
    pub items: Option<Items>,
    /// This operation over time.
    pub intervals: Vec<Period>,
}

/// Items that requests carry: deliveries, rows, messages.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Items {
    /// Expected number.
    pub targets: u64,
    /// Number that arrived.
    pub delivered: Option<u64>,
    /// Number that did not arrive.
    pub failed: Option<u64>,
    /// Share that arrived.
    pub delivered_share: Option<Figure>,
    /// Items of one request at the end of the run.
    pub population: Option<u64>,
}

/// A stretch of the run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Begin, in seconds from the start.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Requests in it.
    pub count: u64,
    /// Those that failed.
    #[serde(default)]
    pub failed: Option<u64>,
    /// Median of their times.
    #[serde(default, deserialize_with = "time_field")]
    pub p50: Option<Figure>,
}

/// How the load is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// By a schedule.
    Open,
    /// Each request follows the answer before it.
    Closed,
}

/// The start of a measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredFrom {
    /// When the request was scheduled.
    Intended,
    /// When the request was sent.
    Sent,
    /// When the request was sent; the tool added estimated times of requests that it never
    /// measured.
    Corrected,
}

impl Run {
    /// Every row; the total comes last.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.total)
    }

    /// The total row: as printed, or the row of the only operation.
    pub fn whole(&self) -> Option<&Row> {
        self.total.as_ref().or(if self.rows.len() == 1 { self.rows.first() } else { None })
    }

    /// Requests of the whole run.
    pub fn count(&self) -> Option<u64> {
        let sum = || self.rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.count()?));
        self.total.as_ref().map_or_else(|| sum().filter(|_| !self.rows.is_empty()), Row::count)
    }

    /// Time in which requests were sent, otherwise the whole length.
    pub fn window(&self) -> Option<Figure> {
        self.send_window.or(self.duration)
    }

    /// Requests per second: from the count if possible, otherwise as printed.
    pub fn rate(&self) -> Option<f64> {
        let printed = || self.whole()?.rate.map(|rate| rate.value);
        let window = self.window().map(|window| window.value).filter(|window| *window > 0.0);
        match (self.count(), window) {
            (Some(n), Some(window)) => Some(n as f64 / window),
            _ => printed(),
        }
    }

    /// Mean time over all operations.
    pub fn mean(&self) -> Option<f64> {
        if let Some(mean) = self.total.as_ref().and_then(|total| total.mean) {
            return Some(mean.value);
        }
        let mut sums = (0.0, 0.0);
        for row in &self.rows {
            let n = row.count()? as f64;
            sums = (sums.0 + n, sums.1 + n * row.mean?.value);
        }
        (sums.0 > 0.0).then(|| sums.1 / sums.0)
    }
}

impl Row {
    /// Requests, as printed or as successes plus failures.
    pub fn count(&self) -> Option<u64> {
        self.n.or_else(|| self.ok?.checked_add(self.failed?))
    }

    /// A quantile, if printed.
    pub fn quantile(&self, q: f64) -> Option<Figure> {
        self.quantiles.iter().find(|(other, _)| (other - q).abs() < 1e-9).map(|(_, value)| *value)
    }

    /// The figure of this name: see [`METRICS`](super::claims::METRICS).
    pub fn metric(&self, name: &str) -> Option<Figure> {
        let share = |part: Option<u64>, whole: Option<u64>| {
            Some(Figure::exact(part? as f64 / whole.filter(|whole| *whole > 0)? as f64))
        };
        match name {
            "min" => self.min,
            "mean" => self.mean,
            "max" => self.max,
            "rate" => self.rate,
            "goodput" => self.goodput,
            "bytes" => self.bytes_mean,
            "failed" => share(self.unsuccessful(), self.count()).or(self.failed_share),
            "ok" => share(self.ok, self.count()).or(self.ok_share),
            "delivered" => {
                let items = self.items.as_ref()?;
                share(items.delivered, Some(items.targets)).or(items.delivered_share)
            }
            name => self.quantile(quantile_name(name)?),
        }
    }

    /// Failures, as printed or as requests minus successes.
    pub fn unsuccessful(&self) -> Option<u64> {
        self.failed.or_else(|| self.n?.checked_sub(self.ok?))
    }
}

impl Report {
    /// The total rows of runs with this name, or the rows of operations with this name.
    pub fn named<'r>(&'r self, name: &'r str) -> impl Iterator<Item = (&'r Run, &'r Row)> {
        self.runs.iter().flat_map(move |run| {
            let whole = run.whole().filter(|_| run.name == name);
            let rows = run.all().filter(move |row| row.name == name && run.name != name);
            whole.into_iter().chain(rows).map(move |row| (run, row))
        })
    }
}

/// Most percentiles in a row.
pub(super) const MOST_QUANTILES: usize = 1_000;

/// Inserts a quantile in order. Keeps one more than [`MOST_QUANTILES`], so that a later check can
/// refuse the row.
pub fn push_quantile(row: &mut Row, q: f64, value: Figure) {
    if (0.0..1.0).contains(&q) && row.quantiles.len() <= MOST_QUANTILES {
        let place = row.quantiles.partition_point(|(other, _)| *other <= q);
        row.quantiles.insert(place, (q, value));
    }
}

/// `p99.9` and the like as 0.999.
pub fn quantile_name(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('p')?.replace('_', ".");
    let digits = digits.trim_start_matches('(').trim_end_matches(')');
    Some(figure::number(digits)?.value / 100.0)
}

fn quantiles<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(f64, Figure)>, D::Error> {
    let mut row = Row::default();
    for (name, text) in BTreeMap::<String, String>::deserialize(from)? {
        let q = quantile_name(&name)
            .ok_or_else(|| D::Error::custom(format!("\"{name}\" is not a percentile like p99")))?;
        let value = figure::time(&text).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is not a time with its unit, such as 12ms"))
        })?;
        push_quantile(&mut row, q, value);
    }
    Ok(row.quantiles)
}

fn think<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let ends = text.split_once("..").unwrap_or((&text, &text));
    let middle = || Some((figure::time(ends.0)?.value + figure::time(ends.1)?.value) / 2.0);
    middle().map(Some).ok_or_else(|| {
        D::Error::custom(format!("\"{text}\" is not a think time, such as 2s or 1s..3s"))
    })
}

fn instant<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    match Option::<serde_json::Value>::deserialize(from)? {
        None => Ok(None),
        Some(serde_json::Value::Number(seconds)) => Ok(seconds.as_f64()),
        Some(value) => value.as_str().and_then(epoch).map(Some).ok_or_else(|| {
            D::Error::custom(format!("{value} is not an instant, such as 2026-01-31T12:00:00Z"))
        }),
    }
}

/// Seconds since 1970 of an instant with an offset; without an offset it counts as UTC.
pub fn epoch(text: &str) -> Option<f64> {
    let stamped = text.parse::<jiff::Timestamp>().ok();
    let local = || {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    stamped.or_else(local).map(|stamp| stamp.as_nanosecond() as f64 / 1e9)
}
