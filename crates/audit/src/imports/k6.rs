//! k6: `--summary-export`, `handleSummary`, and the new machine-readable summary.
//!
//! `http_req_duration` excludes DNS lookup, connecting and TLS. Times in milliseconds.

use serde_json::Value;

use super::claims::Limit;
use super::fields;
use super::figure::Figure;
use super::format::{self, Format, json, single};
use super::report::{MeasuredFrom, Report, Row, Run, push_quantile, quantile_name};

pub(super) const EXPORT: Format = Format {
    name: "k6",
    about: "k6 summary: `--summary-export` or `handleSummary`",
    marks: &["\"metrics\"", "\"http_req_duration\"", "\"http_reqs\"", "\"root_group\""],
    longest: format::SUMMARY,
    read: export,
};

pub(super) const MACHINE: Format = Format {
    name: "k6-machine",
    about: "k6 summary: `--new-machine-readable-summary`",
    marks: &["\"results\"", "\"http_req_duration\"", "\"http_reqs\"", "k6", "\"metadata\""],
    longest: format::SUMMARY,
    read: machine,
};

const MILLI: f64 = 1e-3;

/// Metrics by name, from any form of the summary.
struct Metrics<'v>(Vec<(&'v str, &'v Value)>);

impl<'v> Metrics<'v> {
    fn value(&self, metric: &str, names: &[&str]) -> Option<Figure> {
        let (_, values) = self.0.iter().find(|(name, _)| *name == metric)?;
        names.iter().find_map(|name| fields::figure(values, &[name]))
    }

    fn count(&self, metric: &str, names: &[&str]) -> Result<Option<u64>, String> {
        let Some((_, values)) = self.0.iter().find(|(name, _)| *name == metric) else {
            return Ok(None);
        };
        names.iter().find_map(|name| fields::count(values, &[name]).transpose()).transpose()
    }
}

fn export(text: &str) -> Result<Report, String> {
    let root = json(text)?;
    let metrics = fields::entries(&root, &["metrics"]);
    let metrics = metrics.map(|(name, metric)| (name, metric.get("values").unwrap_or(metric)));
    let metrics = Metrics(metrics.collect());
    let mut run = run(&metrics)?;
    run.duration = fields::time(&root, &["state", "testRunDurationMs"], MILLI);
    let targets = fields::entries(&root, &["metrics"]).flat_map(|(metric, table)| {
        let texts = fields::entries(table, &["thresholds"]).map(|(text, _)| text);
        texts.filter_map(move |text| target(metric, text))
    });
    Ok(Report { targets: targets.collect(), ..single("k6", run) })
}

/// A threshold as a limit; `None` for a part of a metric and for metrics that only k6 has.
fn target(metric: &str, threshold: &str) -> Option<(String, Limit)> {
    let sign = threshold.find(['<', '>'])?;
    let (what, bound) = (threshold[..sign].trim(), Limit::of(&threshold[sign..])?);
    let in_seconds = Limit { value: bound.value * MILLI, ..bound };
    let percentile = || what.strip_prefix("p(")?.strip_suffix(')');
    let name = match (metric, what) {
        ("http_req_duration", "avg") => "mean".to_owned(),
        ("http_req_duration", "med") => "p50".to_owned(),
        ("http_req_duration", "min" | "max") => what.to_owned(),
        ("http_req_duration", _) => format!("p{}", percentile()?),
        ("http_reqs", "rate") => return Some(("rate".to_owned(), bound)),
        ("http_req_failed", "rate") => return Some(("failed".to_owned(), bound)),
        // Checks, errors counted by the script, failures of one part.
        (_, "rate" | "count") => return Some(("checks".to_owned(), bound)),
        _ => return None,
    };
    Some((name, in_seconds))
}

fn machine(text: &str) -> Result<Report, String> {
    let root = json(text)?;
    let list = fields::at(&root, &["results", "metrics"]).and_then(Value::as_array);
    let metrics = list
        .ok_or("`results.metrics`")?
        .iter()
        .filter_map(|metric| Some((fields::text(metric, &["name"])?, metric.get("values")?)));
    let mut run = run(&Metrics(metrics.collect()))?;
    run.duration = fields::figure(&root, &["config", "duration"]);
    Ok(single("k6", run))
}

fn run(metrics: &Metrics<'_>) -> Result<Run, String> {
    const TIMES: &str = "http_req_duration";
    let time = |name: &str| metrics.value(TIMES, &[name]).map(|value| value.times(MILLI));
    let n = metrics.count("http_reqs", &["count"])?.ok_or("the count of `http_reqs`")?;
    // In `http_req_failed`, "passes" are the failed requests.
    let failed = metrics.count("http_req_failed", &["passes", "matches"])?;
    let mut total = Row {
        name: "all".to_owned(),
        n: Some(n),
        failed,
        rate: metrics.value("http_reqs", &["rate"]),
        failed_share: metrics
            .value("http_req_failed", &["rate", "value"])
            .map(|share| Figure { step: 1e-6, ..share }),
        min: time("min"),
        mean: time("avg"),
        max: time("max"),
        timed: Some(n),
        interpolated: true,
        bytes_total: metrics.value("data_received", &["count"]),
        ..Row::default()
    };
    if let Some(median) = time("med") {
        push_quantile(&mut total, 0.5, median);
    }
    let (_, times) =
        metrics.0.iter().find(|(name, _)| *name == TIMES).ok_or("`http_req_duration`")?;
    for (name, value) in fields::entries(times, &[]) {
        if let Some((q, value)) = quantile_name(name).zip(fields::figure(value, &[])) {
            push_quantile(&mut total, q, value.times(MILLI));
        }
    }
    for part in ["sending", "waiting", "receiving"] {
        if let Some(mean) = metrics.value(&format!("http_req_{part}"), &["avg"]) {
            total.parts.push((part.to_owned(), mean.times(MILLI)));
        }
    }
    let checks =
        metrics.count("checks", &["passes"])?.or(metrics.count("checks_total", &["count"])?);
    Ok(Run {
        // A user may have several requests in flight (`http.batch`), so the number of users is no
        // bound on concurrency.
        users: metrics.value("vus_max", &["value", "max"]).map(|value| value.value),
        measured_from: Some(MeasuredFrom::Sent),
        content_checked: checks.is_none().then_some(false),
        total: Some(total),
        ..Run::default()
    })
}
