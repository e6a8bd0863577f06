//! Tests of rules on runs and rows that corrupting a correct report does not trigger: for each, a report that triggers
//! it, and the smallest change that silences it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{audit, rules};
use crate::imports;

/// Rules that `tests` triggers by corrupting a correct report; the correct report is the near case.
const CORRUPTED: &[&str] = &[
    "R01",
    "R02",
    "R03",
    "R07",
    "R09",
    "R11",
    "R11-burst",
    "R12",
    "R12-total",
    "A6",
    "A7",
    "A9",
    "A10",
    "A12",
    "A13",
    "A14",
    "A15",
    "A16",
    "A17",
    "A18",
    "R26",
    "R42",
    "R45",
    "R50",
];
/// Rules for which `near_cases` has both reports.
const NEAR_CASES: &[&str] = &[
    "R19-cpu",
    "R20",
    "R26-cache",
    "R30",
    "R32-end",
    "R34",
    "R34-grown",
    "R41-warm-up",
    "R43-dates",
    "R45-memory",
    "R45-burstable",
    "R46",
    "R47",
    "R48",
    "R49",
    "R51",
    "R52",
    "R54",
];

/// Rule, report, place in it (a JSON pointer), and the value there that silences the rule.
type Pair = (&'static str, Value, &'static str, Value);

fn run(fields: Value) -> Value {
    json!({ "runs": [fields] })
}

fn rows(fields: Value) -> Value {
    run(json!({ "rows": [fields] }))
}

fn of_times() -> Vec<Pair> {
    let labels = json!({ "n": 5000, "min": "3.1ms", "mean": "21.7ms", "max": "93.4ms", "quantiles": { "p50": "20ms", "p95": "50ms", "p99": "50ms" } });
    let folded = json!({ "n": 5000, "mean": "2.4s", "max": "56s", "quantiles": { "p50": "50ms", "p95": "100ms", "p99": "100ms" } });
    let borrowed = json!({ "n": 1000, "interpolated": true, "max": "1041ms", "quantiles": { "p50": "7ms", "p99.9": "19.6ms" } });
    vec![
        ("R04", rows(folded.clone()), "/runs/0/rows/0/mean", json!("120ms")),
        ("R05", rows(labels), "/runs/0/rows/0/quantiles/p50", json!("20.3ms")),
        ("R06", rows(folded), "/runs/0/rows/0/quantiles/p99", json!("240ms")),
        ("R08", rows(borrowed), "/runs/0/rows/0/n", json!(10_000)),
    ]
}

fn of_rates() -> Vec<Pair> {
    let drained = json!({ "duration": "35.0s", "send_window": "30.0s", "total": { "n": 1283, "rate": "36.6" } });
    let thinking = json!({ "users": 50, "think": "2s", "duration": "118.7s", "total": { "n": 2926, "mean": "13ms" } });
    let stragglers = json!({ "model": "closed", "workers": 20, "duration": "1.8s", "total": { "n": 1000, "max": "1.04s", "quantiles": { "p50": "7.1ms" } } });
    let idle = json!({ "workers": 50, "duration": "100s", "total": { "n": 1000, "mean": "13ms" } });
    let meanless = json!({ "model": "closed", "workers": 10, "duration": "30s", "total": { "n": 14527, "quantiles": { "p50": "4.6ms" } } });
    let late = json!({ "target_rate": 200, "send_window": "60.0217s", "first_to_last": true, "total": { "n": 12000 } });
    vec![
        ("R10", run(drained), "/runs/0/total/rate", json!("42.8")),
        ("R13", run(thinking), "/runs/0/total/mean", json!("900ms")),
        ("R14", run(stragglers), "/runs/0/total/max", json!("0.1s")),
        ("R15", run(idle), "/runs/0/total/n", json!(100_000)),
        ("R16", run(meanless), "/runs/0/total/quantiles/p50", json!("14ms")),
        (
            "R17",
            run(json!({ "model": "open", "measured_from": "sent", "total": { "n": 5 } })),
            "/runs/0/measured_from",
            json!("intended"),
        ),
        ("R18", run(late), "/runs/0/send_window", json!("59.9950s")),
        (
            "R33",
            run(json!({ "duration": "60s", "total": { "n": 50, "max": "56s" } })),
            "/runs/0/total/max",
            json!("26s"),
        ),
        (
            "R50",
            run(
                json!({ "name": "sustained, 50 msg/s", "duration": "35.0s", "total": { "n": 1283 } }),
            ),
            "/runs/0/name",
            json!("sustained, 37 msg/s"),
        ),
        (
            "R41",
            run(json!({ "duration": "20s", "total": { "n": 50 } })),
            "/runs/0/duration",
            json!("40s"),
        ),
    ]
}

fn of_failures() -> Vec<Pair> {
    let survivors = json!({ "n": 5000, "ok": 4989, "failed": 11, "timed": 4989, "quantiles": { "p99.9": "1.1s" } });
    let mixed = json!({ "n": 100, "failed": 10, "timed": 100, "max": "30ms" });
    let printed = json!({ "n": 1000, "failed": 100, "rate": "50" });
    let items = json!({ "n": 1000, "ok": 1000, "items": { "targets": 5000, "delivered": 4600 } });
    let cut = json!({ "n": 1200, "mean": "2.4s", "items": { "targets": 5000, "failed": 4800, "population": 100 } });
    let racing = json!({ "duration": "118.7s", "rows": [
        { "name": "a", "n": 1471, "failed": 5, "mean": "13ms" }, { "name": "b", "n": 1455, "failed": 70, "mean": "14ms" }
    ] });
    vec![
        ("R21", rows(survivors), "/runs/0/rows/0/timed", json!(5000)),
        ("R22", rows(mixed), "/runs/0/rows/0/timed", json!(90)),
        ("R23", rows(printed), "/runs/0/rows/0/goodput", json!("45")),
        ("R24", rows(items), "/runs/0/rows/0/items/delivered", json!(4997)),
        (
            "R25",
            run(json!({ "failures_counted": false, "total": { "n": 5 } })),
            "/runs/0/failures_counted",
            json!(true),
        ),
        ("R29", rows(json!({ "n": 100, "failed": 3 })), "/runs/0/rows/0/failed", Value::Null),
        ("R31", run(racing), "/runs/0/rows/1/failed", json!(9)),
        (
            "R32",
            run(json!({ "duration": "60s", "rows": [cut] })),
            "/runs/0/rows/0/items/failed",
            json!(1500),
        ),
    ]
}

fn several(runs: [Value; 3]) -> Value {
    json!({ "factors": ["size"], "runs": runs })
}

fn of_design() -> Vec<Pair> {
    let dose = |dose: u64, mean: &str, at: u64| json!({ "dose": dose, "duration": "60s", "started_at": at, "total": { "n": 12000, "mean": mean } });
    let doses = || several([dose(0, "34.8ms", 0), dose(10, "30.8ms", 70), dose(20, "38.2ms", 140)]);
    let ordered =
        |third: u64| several([dose(0, "1ms", 0), dose(10, "1ms", 70), dose(third, "1ms", 140)]);
    let failing = |n: u64| json!({ "total": { "n": n, "failed": 11 } });
    let level = |size: &str, disk: &str| json!({ "levels": { "size": size }, "context": { "disk": disk }, "total": { "n": 5 } });
    let served = |servers: u64| json!({ "servers": servers, "workers": 10, "total": { "n": 5000, "rate": "640" } });
    let crossed = |size: &str, path: &str| json!({ "levels": { "size": size, "path": path }, "total": { "n": 5 } });
    let ranked = |name: &str, p50: &str, goodput: &str| json!({ "name": name, "total": { "n": 5, "goodput": goodput, "quantiles": { "p50": p50 } } });
    let mut cells = several([crossed("1", "a"), crossed("2", "a"), crossed("2", "b")]);
    cells["factors"] = json!(["size", "path"]);
    let two = json!({ "rows": [{ "n": 5, "mean": "13ms" }, { "n": 5, "mean": "14ms" }] });
    let claimed = json!({ "workers": 10, "capacity": 25, "total": { "n": 5 } });
    let other = |workers: u64| json!({ "workers": workers, "total": { "n": 5 } });
    let linked = json!({ "id": "run-1", "linked_id": "run-2", "total": { "n": 5 } });
    let sized = json!({ "n": 5, "bytes_nominal": "256873", "bytes_mean": "239775" });
    vec![
        ("R19", several([served(1), served(5), served(5)]), "/runs/0/total/rate", json!("140")),
        (
            "R23-ranking",
            several([
                ranked("a", "5ms", "22"),
                ranked("b", "572ms", "800"),
                ranked("c", "600ms", "800"),
            ]),
            "/runs/0/total/goodput",
            json!("790"),
        ),
        (
            "R27",
            run(json!({ "content_checked": false, "total": { "n": 5 } })),
            "/runs/0/content_checked",
            json!(true),
        ),
        (
            "R28",
            several([failing(500), failing(5000), failing(5000)]),
            "/runs/1/total/failed",
            json!(80),
        ),
        ("R35", doses(), "/runs/1/total/mean", json!("35.8ms")),
        ("R36", ordered(20), "/runs/2/dose", json!(0)),
        (
            "R38",
            several([level("1", "ssd"), level("2", "hdd"), level("2", "hdd")]),
            "/runs/0/context/disk",
            json!("hdd"),
        ),
        ("R39", cells, "/factors", json!(["size"])),
        ("R40", run(two), "/runs/0/rows/1/mean", json!("16ms")),
        ("R43", run(linked), "/runs/0/linked_id", json!("run-1")),
        ("R44", rows(sized), "/runs/0/rows/0/bytes_mean", json!("256873")),
        ("R53", several([claimed, other(20), other(20)]), "/runs/2/workers", json!(40)),
    ]
}

fn spoken(report: &Value) -> BTreeSet<String> {
    let mut report = report.clone();
    report["format"] = json!("proofload-figures/1");
    let read = imports::read(&report.to_string(), None);
    let read = read.unwrap_or_else(|error| panic!("{error}: {report}"));
    audit(&read).findings.into_iter().map(|finding| finding.code).collect()
}

#[test]
fn each_rule_speaks_and_is_silent_in_a_near_case() {
    for (rule, report, place, silencing) in
        [of_times(), of_rates(), of_failures(), of_design()].concat()
    {
        assert!(spoken(&report).contains(rule), "{rule} is silent: {:?}", spoken(&report));
        let mut near = report.clone();
        let (parent, name) = place.rsplit_once('/').expect("a pointer");
        near.pointer_mut(parent).expect("a place")[name] = silencing;
        assert!(!spoken(&near).contains(rule), "{rule} speaks: {near}");
    }
}

/// Three runs of one arm are enough, two are not.
#[test]
fn r37_counts_the_runs_of_an_arm() {
    let runs =
        |count: usize| json!({ "runs": vec![json!({ "name": "a", "total": { "n": 5 } }); count] });
    assert!(spoken(&runs(2)).contains("R37"));
    assert!(!spoken(&runs(3)).contains("R37"));
}

#[test]
fn no_rule_is_left_out() {
    let pairs = [of_times(), of_rates(), of_failures(), of_design()].concat();
    let here = pairs.iter().map(|(rule, ..)| *rule).chain(["R37"]);
    let all: BTreeSet<&str> =
        here.chain(CORRUPTED.iter().copied()).chain(NEAR_CASES.iter().copied()).collect();
    let missing: Vec<&str> = rules().map(|rule| rule.id).filter(|id| !all.contains(id)).collect();
    assert_eq!(missing, [""; 0]);
}
