//! The summary as other programs read it: a document written by hand from the contract survives, key by key.

use record::folder::{Folder, MemoryFolder, RunReader, names};
use record::summary::{FORMAT, Summary};
use serde_json::{Value, json};

fn distribution(observed: Value) -> Value {
    json!({
        "count": 9_900, "min_ns": 61_000, "mean_ns": 1_012_345, "max_ns": 900_000_000, "stdev_ns": 44_000_000,
        "overflow": 0, "dispersion": 1.25,
        "quantiles": [
            { "q": 0.5, "observed_ns": 1_000_447, "low_ns": 999_424, "high_ns": 1_001_471, "support": 3_960.0, "grade": "supported" },
            { "q": 0.999, "observed_ns": observed, "low_ns": null, "high_ns": null, "support": 1.5, "grade": "refused" }
        ]
    })
}

fn operation(name: &str) -> Value {
    json!({
        "name": name, "planned": 10_000, "succeeded": 9_900, "failed": 60, "abandoned": 10,
        "failures": { "timeout": 40, "wrong_content": 20 }, "statuses": { "200": 9_920, "503": 20 },
        "response_time": distribution(json!(2_000_000)), "service_time": distribution(json!(2_000_000)),
        "queue_wait": distribution(json!(2_000_000)), "outcome_time": distribution(Value::Null),
        "spans": { "connect": distribution(json!(2_000_000)) },
        "items": { "recipients": { "sum": 120_000.0, "per_operation_mean": 12.5, "ranges": [
            { "from": 8.0, "below": 16.0, "count": 9_900, "p50_ns": 1_000_447, "p95_ns": 1_800_000 }
        ] } },
        "bytes_sent": 500_000, "bytes_received": 90_000_000
    })
}

fn trial() -> Value {
    json!({
        "index": 1, "block": 1, "order": 1, "started_at": "2026-11-21T09:00:00Z",
        "counts_for": "judgement", "validity": "no_steady_state", "reasons": ["response time rises throughout"], "window_ns": 100_000_000,
        "load": { "model": "open", "arrivals": "poisson", "offered_rate": 1_000.0, "connections": 1_000, "users": null, "workers": 1 },
        "phases": { "ramp_up_ns": 0, "warm_up_ns": 5_000_000_000_u64, "measure_ns": 10_000_000_000_u64, "drain_ns": 1_000_000 },
        "accounting": { "planned": 10_000, "started": 9_970, "missed": 30, "succeeded": 9_900, "failed": 60, "abandoned": 10 },
        "rates": { "offered": 1_000.0, "started": 997.0, "completed": 996.0, "goodput": 990.0 },
        "in_flight": { "mean": 1.5, "max": 40 },
        "operations": [operation("publish")],
        "total": operation("all"),
        "generator": {
            "cpu_ns": 800_000_000, "cpu_ratio": 0.08, "dispatch_lag": distribution(json!(90_000)),
            "tail_share": { "dispatch_lag": 0.01, "queue_wait": 0.09, "prepare": 0.1, "service_time": 0.8 },
            "floor": null, "others_cores": 0.25, "steal_ratio": 0.0, "throttled_ns": 0, "run_queue_ratio": 0.01, "notes": ["the limit of open files is 1024"]
        },
        "systems": [{
            "name": "truth", "processes": [{ "name": "truth", "pid": 4_711, "cpu_ns": 5, "run_queue_ns": 7, "rss_peak_bytes": 6 }],
            "version": "0.1.0", "effective": { "backlog": 1_024 }
        }],
        "observers": [{
            "name": "sink", "received": 9_900, "duplicates": 1, "unexpected": 2, "lost": 3, "delivery_time": null,
            "expect": { "text": "lost == 0", "holds": false }, "detail": { "queue": "empty" }
        }],
        "kernel": { "TcpRetransSegs": 3, "TcpExtListenDrops": -1 }
    })
}

fn document() -> Value {
    json!({
        "format": "proofload-summary/1", "rehearsal": false,
        "verdict": { "result": "inconclusive", "reasons": ["p99 < 20ms cannot be decided"] },
        "run": {
            "id": "20261121T090000Z-fan-out", "started_at": "2026-11-21T09:00:00Z", "seed": 42, "plan_hash": "ab12",
            "version": "0.1.0", "title": "Fan-out", "question": null,
            "machine": {
                "cpu": "a processor", "cores": 4, "kernel": "6.18", "memory_bytes": 8_000_000_000_u64, "clock_source": "tsc",
                "placement": { "workers": [3], "systems": [0, 1, 2] }
            },
            "command": ["proofload", "run", "fan-out.toml"]
        },
        "arms": [{ "name": "all", "factors": { "size": 10 }, "trials": [trial()] }],
        "criteria": [{
            "text": "p99 < 20ms", "arm": "all", "operation": "publish", "result": "inconclusive",
            "observed": 19_000_000.0, "low": null, "high": 24_000_000.0
        }],
        "comparisons": [{
            "factor": "path", "stratum": { "connections": 10 }, "baseline": "direct", "candidate": "front",
            "operation": "all", "metric": "p99", "of": "service_time", "ratio": 1.21, "low": 1.1, "high": 1.33,
            "robust_ratio": 1.2, "difference": null, "p_value": 0.012, "p_raw": 0.002, "margin": 0.1,
            "result": "changed", "size_certain": false, "blocks": 10, "needs_blocks": null, "detectable": 1.08,
            "left_out": [3], "note": null,
            "points": [{ "block": 1, "ratio": 1.25, "baseline": 2_000_000.0, "candidate": 2_500_000.0 }],
            "shift": [{ "q": 0.5, "ratio": 1.2, "low": 1.1, "high": 1.3, "p_value": 0.02 }]
        }, {
            "factor": "run", "stratum": {}, "baseline": "old", "candidate": "new",
            "operation": "all", "metric": "failed", "of": "accounting", "ratio": null, "low": null, "high": null,
            "robust_ratio": null, "difference": { "observed": 0.002, "low": -0.001, "high": null }, "p_value": null,
            "p_raw": null, "margin": 0.001, "result": "undecided", "size_certain": false, "blocks": 0,
            "needs_blocks": 24, "detectable": null, "left_out": [], "trials": { "baseline": 4, "candidate": 5 },
            "note": "too few", "points": [], "shift": []
        }], "capacity": null,
        "findings": [{
            "code": "late-generator", "severity": "warning", "arm": "all", "trial": 1, "operation": null,
            "claim": "the generator was late", "evidence": { "dispatch_lag_p99_ns": 90_000 }, "advice": "use more workers"
        }]
    })
}

#[test]
fn a_document_of_the_contract_survives_key_by_key() {
    let summary: Summary = serde_json::from_value(document()).unwrap();
    assert_eq!(summary.format, FORMAT);
    assert_eq!(serde_json::to_value(&summary).unwrap(), document());
}

#[test]
fn a_stored_summary_and_plan_are_read_from_the_folder() {
    let folder = MemoryFolder::default();
    serde_json::to_writer(folder.create(names::SUMMARY).unwrap(), &document()).unwrap();
    serde_json::to_writer(folder.create(names::PLAN).unwrap(), &json!({ "title": "Fan-out" }))
        .unwrap();
    let reader = RunReader::new(&folder);
    assert_eq!(reader.summary().unwrap().run.seed, 42);
    assert_eq!(reader.plan().unwrap()["title"], "Fan-out");
}

#[test]
fn a_summary_cut_short_is_named() {
    let folder = MemoryFolder::default();
    folder.create(names::SUMMARY).unwrap().write_all(b"{\n\"format\":").unwrap();
    let message = RunReader::new(&folder).summary().unwrap_err().to_string();
    assert!(message.starts_with("summary.json, line 2: EOF"), "{message}");
}
