//! For each rule on words, environment and changes over time: a report that triggers it, and a similar one that does
//! not.

use std::collections::BTreeSet;

use record::summary::Severity;
use serde_json::{Value, json};

use super::{Audit, audit, rules};
use crate::imports::{self, Report};

/// Figures typed in by hand: a report with these fields, and one run with these fields and rows.
fn figures(report: Value, run: Value, rows: Value) -> Audit {
    audit(&typed(report, run, rows).unwrap_or_else(|error| panic!("{error}")))
}

fn typed(report: Value, mut run: Value, rows: Value) -> Result<Report, imports::ImportError> {
    let mut whole = json!({ "format": "proofload-figures/1", "runs": [] });
    run["rows"] = rows;
    for (name, value) in report.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    let runs = whole["runs"].as_array_mut().expect("runs");
    runs.insert(0, run);
    imports::read(&whole.to_string(), None)
}

/// The severity of this rule's finding, if it has one.
fn spoke(audit: &Audit, rule: &str) -> Option<Severity> {
    audit.findings.iter().find(|one| one.code == rule).map(|one| one.severity)
}

#[track_caller]
fn says(audit: &Audit, rule: &str, words: &str) {
    let found: Vec<_> = audit.findings.iter().map(|one| (&one.code, &one.claim)).collect();
    let spoken = audit.findings.iter().any(|one| one.code == rule && one.claim.contains(words));
    assert!(spoken, "{rule} with \"{words}\": {found:?}");
}

const WARNING: Option<Severity> = Some(Severity::Warning);
const ERROR: Option<Severity> = Some(Severity::Error);

/// The two operations of a published report; one fails more often.
fn two() -> Value {
    json!([
        { "name": "REST", "n": 1471, "failed": 5, "mean": "13ms", "quantiles": { "p50": "10ms", "p95": "26ms", "p99": "78ms" }, "max": "163ms" },
        { "name": "shared memory", "n": 1455, "failed": 70, "mean": "14ms", "quantiles": { "p50": "11ms", "p95": "27ms", "p99": "82ms" }, "max": "202ms" }
    ])
}

#[test]
fn r30_failures_need_a_limit_that_was_there_before() {
    let claim =
        json!([{ "says": "within acceptable ranges for most applications", "metric": "failed" }]);
    let audit = figures(json!({ "claims": claim }), json!({}), two());
    says(&audit, "R30", "4.81 % of shared memory failed");
    let limited = json!({ "claims": claim, "targets": { "shared memory failed": "< 5%" } });
    assert_eq!(spoke(&figures(limited, json!({}), two()), "R30"), None);
    let others = json!({ "targets": { "p95": "< 100ms" } });
    says(&figures(others.clone(), json!({}), two()), "R30", "passed over by every limit");
    let clean = json!([{ "name": "REST", "n": 1471, "failed": 0 }]);
    assert_eq!(spoke(&figures(others, json!({}), clean), "R30"), None);
    assert_eq!(spoke(&figures(json!({}), json!({}), two()), "R30"), None, "nobody judged");
}

#[test]
fn r30_knows_the_thresholds_of_k6() {
    let sample = include_str!("../imports/samples/k6-export.json");
    let text = |thresholds: &str| {
        let failing = sample.replacen("\"passes\": 0", "\"passes\": 30", 1);
        let mut root: Value = serde_json::from_str(&failing).expect("JSON");
        root["metrics"]["http_req_failed"]["passes"] = json!(30);
        root["metrics"]["http_req_failed"]["value"] = json!(30.0 / 601.0);
        let (metric, threshold) = thresholds.split_once(": ").expect("a pair");
        root["metrics"][metric]["thresholds"] = json!({ threshold: false });
        imports::read(&root.to_string(), None).expect("a report")
    };
    let times = text("http_req_duration: p(95)<500");
    assert!((times.targets["p95"].value - 0.5).abs() < 1e-12, "milliseconds");
    assert_eq!(spoke(&audit(&times), "R30"), WARNING);
    assert_eq!(spoke(&audit(&text("http_req_failed: rate<0.1")), "R30"), None);
    assert_eq!(spoke(&audit(&text("errors: rate<0.1")), "R30"), None, "counted by the script");
}

#[test]
fn r46_a_claim_on_what_was_not_run() {
    let run = || json!({ "name": "a", "workers": 20, "context": { "size": "10 KB" } });
    let at = |at: Value| {
        let claims = json!([{ "says": "20 to 30 workers are best", "at": at }]);
        let more =
            json!([{ "name": "b", "workers": 50, "context": { "size": "1 KB", "tls": "no" } }]);
        figures(json!({ "claims": claims, "runs": more }), run(), two())
    };
    says(&at(json!({ "workers": "20..30" })), "R46", "no run has workers 30");
    assert_eq!(spoke(&at(json!({ "workers": "20..50" })), "R46"), None);
    assert_eq!(spoke(&at(json!({ "workers": "20", "size": "10 kb" })), "R46"), None);
    says(&at(json!({ "workers": "50", "size": "10 KB" })), "R46", "at once");
    says(&at(json!({ "tls": "yes" })), "R46", "no run has tls yes");
    says(&at(json!({ "memory": "15 MB" })), "R46", "no run has memory 15 MB");
}

#[test]
fn r47_a_grade_without_a_limit() {
    let with = |says: &str, metric: Value, targets: Value| {
        let claims = json!([{ "says": says, "metric": metric }]);
        spoke(&figures(json!({ "claims": claims, "targets": targets }), json!({}), two()), "R47")
    };
    let none = || json!({});
    for graded in [
        "Excellently fast",
        "production-readiness is shown",
        "Production‑grade",
        "an acceptable share",
    ] {
        assert_eq!(with(graded, Value::Null, none()), WARNING, "{graded}");
    }
    assert_eq!(with("the median is 10 ms", Value::Null, none()), None);
    assert_eq!(with("unacceptably many words", Value::Null, none()), None);
    assert_eq!(with("perfect", json!("p95"), json!({ "p95": "< 100ms" })), None);
    assert_eq!(with("perfect", json!("failed"), json!({ "p95": "< 100ms" })), WARNING);
}

#[test]
fn r48_the_text_against_the_figures() {
    let with = |claim: Value, targets: Value| {
        figures(json!({ "claims": [claim], "targets": targets }), json!({}), two())
    };
    let faster = |metric: Value, is: &str| {
        with(
            json!({ "says": "no overhead", "metric": metric, "of": "shared memory", "than": "REST", "is": is }),
            json!({}),
        )
    };
    says(&faster(json!("p99"), "lower"), "R48", "p99 of shared memory is 82.0 ms, of REST 78.0 ms");
    assert_eq!(spoke(&faster(json!("p99"), "lower"), "R48"), ERROR);
    assert_eq!(spoke(&faster(Value::Null, "lower"), "R48"), ERROR, "by any percentile");
    assert_eq!(spoke(&faster(json!("p99"), "higher"), "R48"), None);
    assert_eq!(spoke(&faster(json!("mean"), "lower"), "R48"), None, "one unit apart");
    let tail = |of: &str| json!({ "name": of, "n": 9, "quantiles": { "p99.99": if of == "a" { "9.0ms" } else { "5.0ms" } } });
    let faster =
        json!({ "claims": [{ "says": "a is faster", "of": "a", "than": "b", "is": "lower" }] });
    says(&figures(faster, json!({}), json!([tail("a"), tail("b")])), "R48", "p99.99 of a");
    let within = |is: &str| {
        with(json!({ "says": "fast", "metric": "p95", "of": "REST", "is": is }), json!({}))
    };
    assert_eq!(spoke(&within("< 27ms"), "R48"), None);
    assert_eq!(spoke(&within("< 26ms"), "R48"), WARNING, "printed as 26 ms, and may be 25.6");
    assert_eq!(spoke(&within("<= 26ms"), "R48"), None);
    assert_eq!(spoke(&within("< 20ms"), "R48"), ERROR);
    let met = |targets: Value| {
        spoke(&with(json!({ "says": "all criteria met", "is": "met" }), targets), "R48")
    };
    assert_eq!(met(json!({ "shared memory failed": "< 1%" })), ERROR);
    assert_eq!(met(json!({ "REST failed": "< 1%", "p99": "<= 82ms" })), None);
}

#[test]
fn r49_a_cause_without_an_experiment() {
    let runs = |context: Value| {
        let claims = json!([{ "says": "TLS costs 4 %", "cause": "tls" }]);
        let other = json!([{ "name": "b", "context": context }]);
        figures(
            json!({ "claims": claims, "runs": other }),
            json!({ "context": { "tls": "no", "build": "1" } }),
            two(),
        )
    };
    says(&runs(json!({ "tls": "no", "build": "2" })), "R49", "no two runs differ in tls");
    says(&runs(json!({ "tls": "yes", "build": "2" })), "R49", "no two runs differ in tls alone");
    assert_eq!(spoke(&runs(json!({ "tls": "yes", "build": "1" })), "R49"), None);
}

#[test]
fn r51_no_conclusion() {
    let hypothesis = json!({ "hypothesis": "the effect is negligible" });
    assert_eq!(spoke(&figures(hypothesis, json!({}), two()), "R51"), WARNING);
    let decided = json!({ "hypothesis": "the effect is negligible", "conclusion": "undecided" });
    assert_eq!(spoke(&figures(decided, json!({}), two()), "R51"), None);
    let absent = json!({ "announced": ["HDR plots", "raw data"], "shown": ["raw data"] });
    says(&figures(absent, json!({}), two()), "R51", "not there: HDR plots");
    let edge = include_str!("../imports/samples/golden/edge.txt");
    let read = |text: &str| audit(&imports::read(text, None).expect("a report"));
    assert_eq!(spoke(&read(edge), "R51"), None, "no hypothesis is stated");
    let stated = format!("## Hypothesis\n\nThe effect is negligible.\n\n{edge}");
    assert_eq!(spoke(&read(&stated), "R51"), WARNING);
    assert_eq!(spoke(&read(&format!("{stated}\n## Conclusion\n\nIt is not.\n")), "R51"), None);
}

#[test]
fn r54_headroom_is_of_the_capacity_within_limits_and_of_the_peak() {
    let row = || json!([{ "name": "search", "n": 14527, "rate": "484", "quantiles": { "p99": "92ms" }, "max": "372ms" }]);
    let with = |headroom: Value, targets: Value| {
        figures(
            json!({ "headroom": headroom, "targets": targets }),
            json!({ "capacity": "484" }),
            row(),
        )
    };
    let mean = with(json!({ "factor": "480", "demand": "1", "demand_is": "mean" }), json!({}));
    says(&mean, "R54", "480 times the demand: the demand is a mean");
    says(&mean, "R54", "no limit of response time");
    assert_eq!(spoke(&mean, "R54"), WARNING);
    let peak = || json!({ "factor": "4.84", "demand": "100", "demand_is": "peak" });
    assert_eq!(spoke(&with(peak(), json!({ "p99": "< 100ms" })), "R54"), None);
    says(&with(peak(), json!({ "p99": "< 50ms" })), "R54", "limits are not kept: p99 of search");
    let wrong = json!({ "factor": "48", "demand": "100", "demand_is": "peak" });
    assert_eq!(spoke(&with(wrong, json!({ "p99": "< 100ms" })), "R54"), ERROR);
}

fn of_run(run: Value) -> Audit {
    figures(json!({}), run, two())
}

#[test]
fn surroundings_that_spoil_and_those_that_do_not() {
    let cases = [
        ("R19-cpu", json!({ "generator_cpu": "93%" }), json!({ "generator_cpu": "60%" })),
        ("R41-warm-up", json!({ "warm_up_left_out": false }), json!({ "warm_up_left_out": true })),
        (
            "R43-dates",
            json!({ "built_at": "2025-04-23", "reported_at": "2024-04-26" }),
            json!({ "built_at": "2025-04-23", "started_at": "2025-04-23T10:00:00Z", "reported_at": "2025-04-23" }),
        ),
        (
            "R45-memory",
            json!({ "stored_bytes": "960000000", "memory_bytes": "1073741824" }),
            json!({ "stored_bytes": "96000000", "memory_bytes": "1073741824" }),
        ),
        ("R45-burstable", json!({ "instance": "t3.micro" }), json!({ "instance": "c6g.large" })),
        (
            "R52",
            json!({ "same_machine": true }),
            json!({ "same_machine": true, "generator_cpu": "30%" }),
        ),
        ("R52", json!({ "same_machine": true }), json!({ "same_machine": false })),
    ];
    for (rule, fires, silent) in cases {
        assert!(spoke(&of_run(fires.clone()), rule).is_some(), "{rule}: {fires}");
        assert_eq!(spoke(&of_run(silent.clone()), rule), None, "{rule}: {silent}");
    }
    let claimed = json!({ "generator_cpu": "93%", "capacity": 500 });
    assert_eq!(spoke(&of_run(claimed), "R19-cpu"), ERROR);
}

#[test]
fn r52_reads_the_address_that_a_tool_prints() {
    let wrk = include_str!("../imports/samples/wrk.txt");
    let read = |text: &str| audit(&imports::read(text, None).expect("a report"));
    assert_eq!(spoke(&read(wrk), "R52"), WARNING);
    assert_eq!(spoke(&read(&wrk.replace("127.0.0.1", "192.0.2.7")), "R52"), None);
    assert_eq!(spoke(&read(include_str!("../imports/samples/ab.txt")), "R52"), WARNING);
    assert_eq!(spoke(&read(include_str!("../imports/samples/bombardier.txt")), "R52"), WARNING);
    assert_eq!(spoke(&read(include_str!("../imports/samples/bombardier.json")), "R52"), None);
}

/// A table with a line for each request; times grow by this factor towards the end.
fn jtl(lines: u64, factor: f64) -> Audit {
    let mut text = "timeStamp,elapsed,label,success\n".to_owned();
    for place in 0..lines {
        let growth = 1.0 + (factor - 1.0) * place as f64 / lines as f64;
        let took = (100.0 + (place * 7919 % 41) as f64) * growth;
        text.push_str(&format!("{},{took:.0},read,true\n", 1_000_000 + place * 50));
    }
    audit(&imports::read(&text, None).expect("a report"))
}

#[test]
fn r34_times_that_change_through_the_run() {
    assert_eq!(spoke(&jtl(900, 2.0), "R34"), WARNING);
    assert_eq!(spoke(&jtl(900, 1.0), "R34"), None);
    assert_eq!(spoke(&jtl(900, 1.1), "R34"), None, "less than a fifth");
    assert_eq!(spoke(&jtl(200, 2.0), "R34"), None, "too few");
    let typed = |last: &str, count: u64| {
        let part = |place: u64, p50: &str| json!({ "from": place, "to": place + 1, "count": count, "p50": p50 });
        let row = json!([{ "name": "read", "n": 3 * count, "intervals": [part(0, "10.0ms"), part(1, "12.0ms"), part(2, last)] }]);
        spoke(&figures(json!({}), json!({}), row), "R34")
    };
    assert_eq!(typed("16.0ms", 1_000), WARNING);
    assert_eq!(typed("14.0ms", 1_000), None);
    assert_eq!(typed("16.0ms", 50), None, "too few");
}

#[test]
fn r34_work_that_grew() {
    let registry = include_str!("../imports/samples/golden/registry.json");
    says(
        &audit(&imports::read(registry, None).expect("a report")),
        "R34-grown",
        "items on average and 3,0",
    );
    let row = |targets: u64| json!([{ "name": "send", "n": 100, "ok": 100, "items": { "targets": targets, "population": 50 } }]);
    assert_eq!(spoke(&figures(json!({}), json!({}), row(2_500)), "R34-grown"), WARNING);
    assert_eq!(spoke(&figures(json!({}), json!({}), row(5_000)), "R34-grown"), None);
}

#[test]
fn r32_failures_at_the_end() {
    let run = |failed: [u64; 5]| {
        let parts = (0..5).zip(failed);
        let parts: Vec<Value> = parts.map(|(place, failed)| json!({ "from": place, "to": place + 1, "count": 100, "failed": failed })).collect();
        spoke(&of_run(json!({ "intervals": parts })), "R32-end")
    };
    assert_eq!(run([0, 1, 0, 0, 48]), WARNING);
    assert_eq!(run([10, 9, 11, 10, 12]), None);
    assert_eq!(run([0, 0, 0, 0, 3]), None, "too few");
}

#[test]
fn r26_few_different_requests() {
    let row = |distinct: u64| json!([{ "name": "search", "n": 101_770, "distinct": distinct }]);
    assert_eq!(spoke(&figures(json!({}), json!({}), row(6)), "R26-cache"), WARNING);
    assert_eq!(spoke(&figures(json!({}), json!({}), row(50_000)), "R26-cache"), None);
}

#[test]
fn r20_timers_of_the_kernel() {
    let row = |p95: &str, p99: &str, p50: &str| {
        let row = json!([{ "name": "read", "n": 100_000, "quantiles": { "p50": p50, "p95": p95, "p99": p99 }, "max": "300ms" }]);
        figures(json!({}), json!({}), row)
    };
    says(
        &row("40.4ms", "41.2ms", "0.5ms"),
        "R20",
        "40 ms is the time for which an acknowledgement",
    );
    says(&row("201ms", "204ms", "0.5ms"), "R20", "200 ms is the least time");
    assert_eq!(spoke(&row("30.4ms", "41.2ms", "0.5ms"), "R20"), None, "one of them by chance");
    assert_eq!(spoke(&row("40.4ms", "41.2ms", "12ms"), "R20"), None, "as slow as the others");
}

#[test]
fn r45_a_link_is_contradicted_only_when_it_carries_more_than_it_can() {
    let run = |bits: f64| {
        let row = json!([{ "name": "read", "n": 1_000, "bytes_mean": "125000" }]);
        spoke(&figures(json!({}), json!({ "link_bits": bits, "duration": "10s" }), row), "R45")
    };
    assert_eq!(run(1.05e8), WARNING);
    assert_eq!(run(0.9e8), ERROR);
    assert_eq!(run(2e8), None);
}

#[test]
fn what_is_typed_in_wrongly_is_refused() {
    for (report, run, says) in [
        (json!({ "targets": { "p95": "100ms" } }), json!({}), "is not a limit"),
        (json!({ "targets": { "speed": "< 100ms" } }), json!({}), "a known metric (got \"speed\")"),
        (
            json!({ "targets": { "writing p95": "< 100ms" } }),
            json!({}),
            "with the name \"writing\"",
        ),
        (json!({ "claims": [{ "says": "x", "is": "nicer" }] }), json!({}), "is not `lower`"),
        (
            json!({ "claims": [{ "says": "x", "is": "lower" }] }),
            json!({}),
            "`of` and `than` of the claim",
        ),
        (json!({ "claims": [{ "says": "x", "is": "< 5ms" }] }), json!({}), "`metric` of the claim"),
        (
            json!({ "claims": [{ "says": "x", "of": "SHM", "than": "REST", "is": "lower" }] }),
            json!({}),
            "the name \"SHM\"",
        ),
        (json!({ "claims": [{ "means": "x" }] }), json!({}), "unknown field"),
        (json!({}), json!({ "workers": -5 }), "`workers` of 0 or more (got -5)"),
        (json!({}), json!({ "generator_cpu": "-5%" }), "`generator_cpu`"),
        (
            json!({}),
            json!({ "intervals": [{ "from": 0, "to": 1, "count": -1 }] }),
            "a whole `proofload-figures/1`",
        ),
    ] {
        let error = typed(report, run, two()).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn the_guide_shows_what_it_says() {
    let guide = include_str!("../../../../docs/guide/audit.md");
    let (_, rest) = guide.split_once("```json\n").expect("an example");
    let (example, words) = rest.split_once("```").expect("its end");
    let audit = audit(&imports::read(example, None).expect("a report"));
    for (rule, severity) in [("R46", WARNING), ("R48", ERROR), ("R49", WARNING), ("R54", WARNING)] {
        assert_eq!(spoke(&audit, rule), severity, "{rule}");
        assert!(words.contains(&format!("`{rule}`")), "{rule}");
    }
    assert_eq!(audit.contradictions, 1, "{:?}", audit.findings);
}

/// The catalogue has 54 rules, and the audit implements each.
#[test]
fn every_rule_of_the_catalogue_is_there() {
    let plain = |id: &'static str| id.split('-').next().unwrap_or(id);
    let built: BTreeSet<&str> =
        rules().map(|rule| plain(rule.id)).filter(|id| id.starts_with('R')).collect();
    let all: Vec<String> = (1..=54).map(|n| format!("R{n:02}")).collect();
    assert_eq!(built.into_iter().collect::<Vec<_>>(), all);
}
