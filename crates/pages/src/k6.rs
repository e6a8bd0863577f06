//! The summaries of k6: the file of `--summary-export`, and the data that `handleSummary` gets. One object a trial, one a
//! line.
//!
//! Times are milliseconds, of operations that succeeded. Mean and extremes are exact; a percentile is the upper end of its
//! bucket, at most 1/1024 above, so where all times are that near to each other it may speak against the mean.
//! `http_req_duration` is the service time, which is what k6
//! measures; `iteration_duration` is the response time, which begins at the intended start, and which criteria on times
//! are about.

use std::io::{self, Write};

use record::folder::Folder;
use record::summary::{Criterion, Distribution, Judgement, Summary, TrialSummary};
use serde_json::{Map, Value, json};

use judge::run_record::RunRecord;

/// The identifier that k6 gives to the group without a name.
const ROOT: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// One of k6's metrics.
struct Metric<'a> {
    name: &'static str,
    /// `counter`, `rate`, `trend` or `gauge`.
    kind: &'static str,
    /// `time`, `data` or `default`.
    contains: &'static str,
    values: Value,
    criteria: Vec<&'a Criterion>,
}

/// Format `k6`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    each_trial(run, out, |metrics, _| {
        let root = json!({ "name": "", "path": "", "id": ROOT, "groups": {}, "checks": {} });
        json!({ "root_group": root, "metrics": by_name(metrics, exported) })
    })
}

/// Format `k6-data`.
pub(super) fn write_data(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    each_trial(run, out, |metrics, trial| {
        let root = json!({ "name": "", "path": "", "id": ROOT, "groups": [], "checks": [] });
        let options = json!({
            "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(95)"],
            "summaryTimeUnit": "",
            "noColor": false,
        });
        let state = json!({
            "isStdOutTTY": false,
            "isStdErrTTY": false,
            "testRunDurationMs": trial.phases.measure_ns as f64 / 1e6,
        });
        let metrics = by_name(metrics, as_data);
        json!({ "root_group": root, "options": options, "state": state, "metrics": metrics })
    })
}

fn each_trial(
    run: &RunRecord,
    out: &mut dyn Write,
    report: impl Fn(Vec<Metric<'_>>, &TrialSummary) -> Value,
) -> io::Result<()> {
    let summary = &run.summary;
    for arm in &summary.arms {
        for trial in &arm.trials {
            serde_json::to_writer(&mut *out, &report(metrics(summary, &arm.name, trial), trial))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn by_name(metrics: Vec<Metric<'_>>, value: fn(&Metric<'_>) -> Value) -> Map<String, Value> {
    metrics.iter().map(|metric| (metric.name.to_owned(), value(metric))).collect()
}

/// In the file, a threshold is `true` where it is crossed.
fn exported(metric: &Metric<'_>) -> Value {
    let mut exported = metric.values.clone();
    if metric.kind == "rate"
        && let Some(values) = exported.as_object_mut()
        && let Some(rate) = values.remove("rate")
    {
        values.insert("value".to_owned(), rate);
    }
    if !metric.criteria.is_empty() {
        exported["thresholds"] = thresholds(metric, |is_met| (!is_met).into());
    }
    exported
}

fn as_data(metric: &Metric<'_>) -> Value {
    let Metric { kind, contains, values, .. } = metric;
    let mut data = json!({ "type": kind, "contains": contains, "values": values });
    if !metric.criteria.is_empty() {
        data["thresholds"] = thresholds(metric, |is_met| json!({ "ok": is_met }));
    }
    data
}

fn thresholds(metric: &Metric<'_>, value: fn(bool) -> Value) -> Value {
    let each = metric.criteria.iter();
    each.map(|one| (one.text.clone(), value(one.result == Judgement::Pass))).collect()
}

fn metrics<'a>(summary: &'a Summary, arm: &str, trial: &TrialSummary) -> Vec<Metric<'a>> {
    let seconds = (trial.phases.measure_ns as f64 / 1e9).max(1e-9);
    let counter = |count: u64| json!({ "count": count, "rate": count as f64 / seconds });
    let (total, account) = (&trial.total, &trial.accounting);
    let mut metrics = Vec::new();
    let mut put = |name, kind, contains, values| {
        let own = summary.criteria.iter().filter(|one| one.arm == arm && about(one) == name);
        metrics.push(Metric { name, kind, contains, values, criteria: own.collect() });
    };
    put("http_reqs", "counter", "default", counter(account.started));
    put("iterations", "counter", "default", counter(account.started));
    put("dropped_iterations", "counter", "default", counter(account.missed));
    put("data_sent", "counter", "data", counter(total.bytes_sent));
    put("data_received", "counter", "data", counter(total.bytes_received));
    let failed = account.failed + account.abandoned;
    put("http_req_failed", "rate", "default", rate(failed, account.succeeded));
    for (name, known) in [
        ("http_req_duration", Some(&total.service_time)),
        ("iteration_duration", Some(&total.response_time)),
        ("http_req_blocked", Some(&total.queue_wait)),
        ("http_req_connecting", total.spans.get("connect")),
        ("http_req_tls_handshaking", total.spans.get("tls")),
        ("http_req_waiting", total.spans.get("first_byte")),
    ] {
        if let Some(known) = known {
            put(name, "trend", "time", times(known));
        }
    }
    if let Some(users) = trial.load.users {
        for name in ["vus", "vus_max"] {
            put(name, "gauge", "default", json!({ "value": users, "min": users, "max": users }));
        }
    }
    metrics
}

/// The metric that a criterion is about.
fn about(criterion: &Criterion) -> &'static str {
    let words = criterion.text.split_whitespace();
    let is_time = |word: &str| {
        matches!(word, "mean" | "max")
            || word
                .strip_prefix('p')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut words = words.take_while(|word| !word.starts_with(['<', '>', '=']));
    if words.clone().any(is_time) {
        "iteration_duration"
    } else if words.any(|word| matches!(word, "failed" | "abandoned")) {
        "http_req_failed"
    } else {
        "http_reqs"
    }
}

/// `passes` counts what the rate is of: operations that failed.
fn rate(failed: u64, succeeded: u64) -> Value {
    let all = (failed + succeeded).max(1) as f64;
    json!({ "passes": failed, "fails": succeeded, "rate": failed as f64 / all })
}

fn times(known: &Distribution) -> Value {
    let ms = |ns: u64| ns as f64 / 1e6;
    let at = |q: f64| {
        let entry = known.quantiles.iter().find(|entry| (entry.q - q).abs() < 1e-9);
        ms(entry.and_then(|entry| entry.observed_ns).unwrap_or(known.max_ns))
    };
    json!({
        "avg": ms(known.mean_ns),
        "min": ms(known.min_ns),
        "med": at(0.5),
        "max": ms(known.max_ns),
        "p(90)": at(0.9),
        "p(95)": at(0.95),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    #[test]
    fn figures_are_those_of_the_summary_in_both_forms() {
        let mut summary = example::summary();
        let arm = summary.arms[0].clone();
        let trial = &arm.trials[0];
        summary.criteria.truncate(1);
        summary.criteria[0].text = "p99 < 20ms".to_owned();
        summary.criteria[0].arm = arm.name.clone();
        let file = by_name(metrics(&summary, &arm.name, trial), exported);
        let data = by_name(metrics(&summary, &arm.name, trial), as_data);
        assert_eq!(file["http_reqs"]["count"], trial.accounting.started);
        assert_eq!(data["http_reqs"]["values"], file["http_reqs"]);
        let failed = trial.accounting.failed + trial.accounting.abandoned;
        assert_eq!(file["http_req_failed"]["passes"], failed);
        assert_eq!(file["http_req_failed"]["value"], data["http_req_failed"]["values"]["rate"]);
        assert!(file["http_req_failed"].get("rate").is_none());
        let mean = file["http_req_duration"]["avg"].as_f64().unwrap();
        assert!((mean * 1e6 - trial.total.service_time.mean_ns as f64).abs() < 1.0);
        let is_met = summary.criteria[0].result == Judgement::Pass;
        assert_eq!(file["iteration_duration"]["thresholds"]["p99 < 20ms"], !is_met);
        assert_eq!(data["iteration_duration"]["thresholds"]["p99 < 20ms"]["ok"], is_met);
    }

    #[test]
    fn criteria_belong_to_the_metric_they_are_about() {
        let of = |text: &str| {
            let mut one = example::summary().criteria[0].clone();
            one.text = text.to_owned();
            about(&one)
        };
        assert_eq!(of("search p99.9 < 20ms"), "iteration_duration");
        assert_eq!(of("mean < 20ms"), "iteration_duration");
        assert_eq!(of("failed / started < 1%"), "http_req_failed");
        assert_eq!(of("goodput > 99/s"), "http_reqs");
    }
}
