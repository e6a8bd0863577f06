//! What a report of another tool says: one model for every format. What a report leaves out is
//! absent, and silences the rules that need it.
//!
//! It is also the form in which figures are typed in by hand: see [`super::FIELDS`].
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
    /// Who made it.
    pub tool: String,
    /// Names of `levels` that were varied on purpose.
    pub factors: Vec<String>,
    /// Limits that were declared before the run: `p99`, or `Multicast p99`.
    pub targets: BTreeMap<String, Limit>,
    /// What the report sets out to show.
    pub hypothesis: Option<String>,
    /// What it says of that in the end.
    pub conclusion: Option<String>,
    /// Figures, data and sections that its text refers to.
    pub announced: Vec<String>,
    /// Those of them that are there.
    pub shown: Vec<String>,
    /// What its text claims.
    pub claims: Vec<Claim>,
    /// What the system could do over what is asked of it.
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
    /// How much of a treatment; 0 is the baseline.
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
    /// Users who think.
    pub users: Option<f64>,
    /// Think time, or a worker's pause after each request; the middle of a range.
    #[serde(deserialize_with = "think")]
    pub think: Option<f64>,
    /// Requests a second asked for.
    pub target_rate: Option<Figure>,
    /// Servers that shared the load.
    pub servers: Option<f64>,
    /// Length asked for.
    #[serde(deserialize_with = "time_field")]
    pub asked_duration: Option<Figure>,
    /// Length of the whole, as the tool took it.
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
    /// Where a time starts.
    pub measured_from: Option<MeasuredFrom>,
    /// Whether answers were looked at beyond their status.
    pub content_checked: Option<bool>,
    /// Whether this mode of the tool can count a failure at all.
    pub failures_counted: Option<bool>,
    /// What the report says the system can do, a second.
    pub capacity: Option<Figure>,
    /// Speed of the link, in bits a second.
    pub link_bits: Option<f64>,
    /// Whether load and system were on one machine.
    pub same_machine: Option<bool>,
    /// Share of its processors that the generator used.
    pub generator_cpu: Option<Figure>,
    /// Whether the warm-up was left out of the figures.
    pub warm_up_left_out: Option<bool>,
    /// Bytes that the system kept in the run.
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
    /// One line an operation.
    pub rows: Vec<Row>,
    /// The line of the whole.
    pub total: Option<Row>,
    /// Requests by time.
    pub intervals: Vec<Period>,
}

/// One line of figures.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// The operation.
    pub name: String,
    /// Requests.
    pub n: Option<u64>,
    /// Those that succeeded.
    pub ok: Option<u64>,
    /// Those that did not.
    pub failed: Option<u64>,
    /// Those that did not, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// Requests a second.
    pub rate: Option<Figure>,
    /// Successful requests a second.
    pub goodput: Option<Figure>,
    /// Share that succeeded.
    pub ok_share: Option<Figure>,
    /// Share that did not.
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
    /// Whether the tool interpolates between two requests to make a quantile.
    pub interpolated: bool,
    /// Requests that have a time.
    pub timed: Option<u64>,
    /// Step of the tool's own record of times, in seconds, where it is coarse.
    pub resolution: Option<f64>,
    /// How far the share below a quantile may be off, where the tool estimates.
    pub rank_error: f64,
    /// Means of the parts that together are the mean time.
    pub parts: Vec<(String, Figure)>,
    /// Bytes received.
    pub bytes_total: Option<Figure>,
    /// Bytes received for each request.
    pub bytes_mean: Option<Figure>,
    /// Bytes received a second.
    pub bytes_rate: Option<Figure>,
    /// Size of an answer that the report states.
    pub bytes_nominal: Option<Figure>,
    /// Encoding of the answers, such as `gzip`.
    pub encoding: Option<String>,
    /// How many different requests were sent.
    pub distinct: Option<u64>,
    /// What the requests were made for, when each stands for many.
    pub items: Option<Items>,
    /// The same by time.
    pub intervals: Vec<Period>,
}

/// Deliveries, rows, messages: what requests were made for.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Items {
    /// How many there should have been.
    pub targets: u64,
    /// How many arrived.
    pub delivered: Option<u64>,
    /// How many did not.
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

/// How load is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// By a schedule.
    Open,
    /// The next request follows the answer.
    Closed,
}

/// Where a time starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredFrom {
    /// When the request should have been sent.
    Intended,
    /// When it was sent.
    Sent,
    /// When it was sent, and times that were never measured were added afterwards.
    Corrected,
}

impl Run {
    /// Every row, the whole last.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.total)
    }

    /// The line of the whole: as printed, or that of the only operation.
    pub fn whole(&self) -> Option<&Row> {
        self.total.as_ref().or(if self.rows.len() == 1 { self.rows.first() } else { None })
    }

    /// Requests of the whole run.
    pub fn count(&self) -> Option<u64> {
        let sum = || self.rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.count()?));
        self.total.as_ref().map_or_else(|| sum().filter(|_| !self.rows.is_empty()), Row::count)
    }

    /// Time in which requests were sent, or the whole length.
    pub fn window(&self) -> Option<Figure> {
        self.send_window.or(self.duration)
    }

    /// Requests a second: counted if possible, printed otherwise.
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
    /// Requests, as printed or as the sum of the good and the bad.
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

    /// Those that failed, as printed or as the rest.
    pub fn unsuccessful(&self) -> Option<u64> {
        self.failed.or_else(|| self.n?.checked_sub(self.ok?))
    }
}

impl Report {
    /// Lines of the whole of runs with this name, or of operations.
    pub fn named<'r>(&'r self, name: &'r str) -> impl Iterator<Item = (&'r Run, &'r Row)> {
        self.runs.iter().flat_map(move |run| {
            let whole = run.whole().filter(|_| run.name == name);
            let rows = run.all().filter(move |row| row.name == name && run.name != name);
            whole.into_iter().chain(rows).map(move |row| (run, row))
        })
    }
}

/// The most percentiles of a line.
pub(super) const MOST_QUANTILES: usize = 1_000;

/// Adds a quantile and keeps their order. One more than [`MOST_QUANTILES`] is kept, to be refused.
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

/// An instant with an offset, or a local one as if it were UTC, in seconds since 1970.
pub fn epoch(text: &str) -> Option<f64> {
    let stamped = text.parse::<jiff::Timestamp>().ok();
    let local = || {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    stamped.or_else(local).map(|stamp| stamp.as_nanosecond() as f64 / 1e9)
}
