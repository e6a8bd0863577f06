//! Metrics of a run in the programs that people have: a real Prometheus that scrapes and is written to, the schema of
//! Grafana, and the messages of OpenTelemetry.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

use record::folder::{Folder, MemoryFolder, RunReader};
use record::summary::{ListedOperation, TrialSummary};
use record::{MixNames, WindowSpan};
use serde_json::Value;
use stats::{Bucket, COARSE, Histogram, quantile};

use crate::lab::prometheus::Prometheus;
use crate::lab::server::{Served, free_port, truth};
use crate::lab::{Lab, Ran, assert_measured, files_below, only_trial, repository};

const TIMES: &str = "proofload_operation_response_time_seconds";
const PLANNED: &str = "proofload_operations_planned_total";
/// Ratio of the ends of an exponential bucket.
const BUCKET: f64 = 1.0219;

fn python(script: &str) -> Command {
    let interpreter = repository(".venv/bin/python");
    assert!(interpreter.exists(), "run scripts/prerequisites, which makes .venv");
    let mut command = Command::new(interpreter);
    command.arg(repository(&format!("crates/proofload/tests/e2e/metrics/{script}")));
    command
}

/// Runs against this for two seconds, recorded in this folder.
fn run(lab: &Lab, url: &str, folder: &str, flags: &[&str]) -> Ran {
    run_for(lab, url, (folder, "2s"), flags)
}

fn run_for(lab: &Lab, url: &str, (folder, duration): (&str, &str), flags: &[&str]) -> Ran {
    let fixed = ["run", url, "--rate", "200/s", "--warm-up", "0s", "--duration", duration];
    lab.proofload(&[&fixed, &["--out", folder][..], flags].concat())
}

/// The response times in the windows of a run's only trial.
fn recorded(lab: &Lab, folder: &str) -> Histogram {
    let memory = MemoryFolder::default();
    let root = lab.path(folder);
    for file in files_below(&root) {
        let name = file.strip_prefix(&root).expect("within").display().to_string();
        let bytes = std::fs::read(&file).expect("readable");
        memory.create(&name).and_then(|mut copy| copy.write_all(&bytes)).expect("memory");
    }
    let names = MixNames { operations: vec!["operation-1".to_owned()], journeys: Vec::new() };
    let mut all = Histogram::new(COARSE);
    let mut add = |window: &record::Window| {
        window.all(WindowSpan::ResponseTime).iter().for_each(|times| all.merge(times));
    };
    RunReader::new(&memory).visit_windows(1, &names, &mut add).expect("windows");
    all
}

/// Time and value of each sample of one series, without marks of its end.
fn samples(prometheus: &Prometheus, series: &str) -> Vec<(f64, f64)> {
    let found = prometheus.query(&format!("{series}[1h]"));
    assert_eq!(found.len(), 1, "{series}: {found:?}");
    let values = found[0]["values"].as_array().expect("samples").iter();
    let sample = |value: &Value| Some((value[0].as_f64()?, value[1].as_str()?.parse().ok()?));
    values.map(|value| sample(value).expect("a sample")).collect()
}

fn number(result: &[Value]) -> f64 {
    assert_eq!(result.len(), 1, "{result:?}");
    result[0]["value"][1].as_str().and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn percentiles_of_two_runs_add_up_in_a_prometheus_that_is_written_to() {
    let lab = Lab::new();
    let prometheus = Prometheus::native(&lab, None);
    let (_fast, fast) = truth(&["mode=bimodal", "fast=2ms", "slow=9ms", "share=0.3"]);
    let (_slow, slow) = truth(&["mode=constant", "service=30ms"]);
    let mut all = Histogram::new(COARSE);
    let (mut parts, mut ends) = (Vec::new(), Vec::new());
    for (folder, url) in [("first", &fast), ("second", &slow)] {
        // Long enough that a sample falls into the measure phase.
        let write = ["--remote-write", &prometheus.write_url("")];
        let ran = run_for(&lab, url, (folder, "7s"), &write);
        assert!(!ran.stderr.contains("metrics") && !ran.stderr.contains("samples"), "{ran:?}");
        let own = recorded(&lab, folder);
        all.merge(&own);
        let written = samples(&prometheus, &format!("{PLANNED}{{run=\"{folder}\"}}"));
        assert!(written.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{written:?}");
        assert_eq!(written[0].1, 0.0, "from zero, so that nothing is lost to `rate`");
        let summary = lab.summary(folder).expect("a summary");
        let &(at, planned) = written.last().expect("a sample");
        assert_eq!(planned, only_trial(&summary).accounting.planned as f64);
        let selector = format!("{TIMES}{{run=\"{folder}\"}} @ {at}");
        assert_eq!(
            number(&prometheus.query(&format!("histogram_count({selector})"))),
            own.count() as f64
        );
        let sum = number(&prometheus.query(&format!("histogram_sum({selector})")));
        assert!((sum - own.sum() as f64 * 1e-9).abs() < 1e-3 * sum, "{sum}");
        let after = format!("{PLANNED}{{run=\"{folder}\"}} @ {}", at + 1.0);
        assert!(prometheus.query(&after).is_empty(), "its end is marked");
        parts.push(selector);
        ends.push(at);
    }
    for q in [0.1, 0.5, 0.64, 0.9, 0.95, 0.99, 1.0] {
        let together = format!("histogram_quantile({q}, sum({} or {}))", parts[0], parts[1]);
        let theirs = number(&prometheus.query(&together));
        // The end of our bucket, which is what was sent; of the greatest time more is known.
        let (rank, mut up_to) = (quantile::rank(q, all.count()), 0);
        let holds = |bucket: &Bucket| {
            up_to += bucket.count;
            up_to >= rank
        };
        let ours = all.buckets().find(holds).expect("a quantile").high as f64 * 1e-9;
        let ratio = theirs / ours;
        assert!((1.0 / BUCKET..BUCKET).contains(&ratio), "{q}: {theirs} there, {ours} here");
    }
    for (expression, shown) in dashboard_queries() {
        let found = prometheus.query_range(&expression, ends[0] - 10.0, ends[1]);
        assert!(shown != found.is_empty(), "{expression}: {found:?}");
    }
}

/// Every query of the dashboard with its variables replaced, and whether an open load without failures has something to
/// show there.
fn dashboard_queries() -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(repository("examples/grafana/proofload.json"));
    let dashboard: Value = serde_json::from_str(&text.expect("the dashboard")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let queries = targets.map(|target| {
        let expression = target["expr"].as_str().expect("an expression");
        let replaced = [
            ("$__rate_interval", "10s"),
            ("$__range", "1m"),
            ("${time}", "response_time"),
            ("$run", "first|second"),
            ("$arm", ".*"),
            ("$operation", ".*"),
        ];
        let query = replaced
            .iter()
            .fold(expression.to_owned(), |text, (name, value)| text.replace(name, value));
        assert!(!query.contains('$'), "{query}");
        let is_empty = query.contains("journey") || query.contains("> 0");
        (query, !is_empty)
    });
    queries.collect()
}

#[test]
fn the_dashboard_has_the_schema_of_grafana() {
    let check = |text: &str| {
        let mut command = python("dashboard.py");
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("python starts");
        child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("it reads");
        Ran::from(child.wait_with_output().expect("it ends"))
    };
    let text = std::fs::read_to_string(repository("examples/grafana/proofload.json"))
        .expect("it is there");
    let checked = check(&text);
    assert_eq!((checked.code, checked.stdout.as_str()), (0, ""), "{}", checked.stderr);
    let wrong = check(&text.replacen("\"legendFormat\"", "\"legend\"", 1));
    assert!(wrong.stdout.contains("/panels[0]/targets[0]/legend is unknown"), "{wrong:?}");
}

#[test]
fn a_run_is_scraped_with_native_histograms_and_without() {
    let lab = Lab::new();
    let address = format!("127.0.0.1:{}", free_port());
    let native = Prometheus::native(&lab, Some(&address));
    let classic = Prometheus::classic(&lab, &address);
    [&native, &classic].into_iter().for_each(Prometheus::await_scrapes);
    let (_target, url) = truth(&["mode=constant", "service=20ms"]);
    run_for(&lab, &url, ("run", "6s"), &["--live", &address]);
    let planned = only_trial(&lab.summary("run").expect("a summary")).accounting.planned as f64;
    for prometheus in [&native, &classic] {
        let scraped = samples(prometheus, &format!("{PLANNED}{{run=\"run\"}}"));
        assert!(scraped.len() >= 3 && scraped.is_sorted_by(|a, b| a.1 <= b.1), "{scraped:?}");
        let &(at, last) = scraped.last().expect("a sample");
        assert!(0.0 < last && last <= planned, "{last} of {planned}");
        let up = prometheus.query(&format!("up @ {at}"));
        assert_eq!(number(&up), 1.0);
    }
    let scraped = native.query(&format!("{TIMES}{{run=\"run\"}}[1h]"));
    let histograms = scraped[0]["histograms"].as_array().expect("native histograms");
    let at = histograms.last().and_then(|last| last[0].as_f64()).expect("a time");
    let median =
        number(&native.query(&format!("histogram_quantile(0.5, {TIMES}{{run=\"run\"}} @ {at})")));
    assert!((0.019..0.1).contains(&median), "{median}");
    assert!(native.query(&format!("{TIMES}_bucket[1h]")).is_empty());
    let at =
        samples(&classic, &format!("{TIMES}_count{{run=\"run\"}}")).last().expect("a sample").0;
    let buckets = format!("sum by (le) ({TIMES}_bucket{{run=\"run\"}} @ {at})");
    let median = number(&classic.query(&format!("histogram_quantile(0.5, {buckets})")));
    assert!((0.01..0.1).contains(&median), "{median}");
}

/// Two arms at the same time, twice.
const DUET: &str = r#"
title = "Both at once"
[factors]
service = ["2ms", "20ms"]
[design]
blocks = 2
duet = true
[system]
serve = "truth"
set = { mode = "constant", service = "{{factor.service}}" }
[load]
rate = "100/s"
duration = "1s"
warm_up = "200ms"
steady_state = "reported"
[[operation]]
name = "get"
http = { path = "/" }
[[journey]]
name = "visit"
steps = ["get", "get"]
"#;

/// Sums over the trials of each arm, in Prometheus and in the summary.
fn assert_arms(lab: &Lab, prometheus: &Prometheus, run: &str, span: &str) {
    let file = format!("{run}.toml");
    let ran = lab.proofload(
        &[&["run", &file, "--out", run][..], &["--remote-write", &prometheus.write_url("")]]
            .concat(),
    );
    let summary = lab.summary(run).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(summary.arms.len(), 2);
    for arm in &summary.arms {
        assert_eq!(arm.trials.len(), 2);
        let of_trials =
            |count: fn(&TrialSummary) -> u64| arm.trials.iter().map(count).sum::<u64>() as f64;
        let labels = format!("run=\"{run}\",arm=\"{}\"", arm.name);
        let of = |counter: &str| {
            *samples(prometheus, &format!("proofload_{counter}{{{labels}}}"))
                .last()
                .expect("a sample")
        };
        let (at, planned) = of("operations_planned_total");
        assert_eq!(planned, of_trials(|trial| trial.accounting.planned), "{labels}");
        let visits = of("journeys_succeeded_total").1;
        assert_eq!(visits, of_trials(|trial| trial.journeys[0].whole.succeeded), "{labels}");
        let count = |part: &str| {
            let times = format!("proofload_{part}_{span}_seconds{{{labels}}} @ {at}");
            number(&prometheus.query(&format!("histogram_count({times})")))
        };
        assert_eq!(count("operation"), of_trials(|trial| trial.accounting.succeeded), "{labels}");
        assert_eq!(count("journey"), visits, "{labels}");
        let times = format!("proofload_operation_{span}_seconds{{{labels}}} @ {at}");
        let least = number(&prometheus.query(&format!("histogram_quantile(0, {times})")));
        let service = if arm.name.contains("20ms") { 0.02 } else { 0.002 };
        assert!(least >= service / BUCKET, "{labels}: {least}");
    }
}

#[test]
fn both_arms_of_a_duet_their_trials_and_journeys_are_counted() {
    let lab = Lab::new();
    let prometheus = Prometheus::native(&lab, None);
    lab.write("duet.toml", DUET);
    let closed = DUET.replace("duet = true\n", "").replace("rate = \"100/s\"", "connections = 4");
    lab.write("closed.toml", &closed);
    assert_arms(&lab, &prometheus, "duet", "response_time");
    assert_arms(&lab, &prometheus, "closed", "service_time");
}

/// Answers every request with this status.
fn answering(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let _ = lines.find(String::is_empty);
            let _ = write!(&stream, "HTTP/1.1 {status}\r\nconnection: close\r\n\r\n");
        }
    });
    address
}

#[test]
fn a_run_ends_as_without_metrics_when_they_reach_nobody_and_no_password_is_shown() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=constant", "service=20ms"]);
    for (folder, address) in [("down", "127.0.0.1:1".to_owned()), ("failing", answering("500 No"))]
    {
        let flag = format!("--remote-write=http://ada:s3cr,et@{address}/write?key=s3cr,et");
        let ran =
            run(&lab, &url, folder, &[&flag, "--otlp", &format!("http://ada:s3cr,et@{address}")]);
        assert_measured(&ran, &lab.summary(folder).expect("a summary"));
        for path in ["write", "v1/metrics"] {
            let shown = format!("samples did not reach http://{address}/{path}");
            assert_eq!(ran.stderr.matches(&shown).count(), 1, "{}", ran.stderr);
        }
        assert_eq!(ran.stderr.matches("takes no metrics now").count(), 2, "{}", ran.stderr);
        assert!(!ran.stderr.contains("s3cr") && !ran.stdout.contains("s3cr"), "{ran:?}");
        for file in files_below(&lab.path(folder)) {
            let text = std::fs::read(&file).expect("readable");
            assert!(!text.windows(4).any(|four| four == b"s3cr"), "{}", file.display());
        }
    }
    let wrong = run(&lab, &url, "wrong", &["--remote-write", "ftp://ada:s3cret@db/"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(
        wrong.stderr.contains("--remote-write") && !wrong.stderr.contains("s3cret"),
        "{wrong:?}"
    );
    assert!(!lab.path("wrong").exists(), "nothing was measured");
}

/// Every operation that the run lists, and nothing else.
fn assert_spans(lab: &Lab, spans: &[Value]) {
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    let traces = trial.traces.as_ref().expect("it was traced");
    assert!(traces.failures_total > 0 && traces.failures_total <= 100, "all are in the summary");
    let slowest = traces.slowest.iter().filter(|one| one.outcome == "succeeded");
    let listed = slowest.chain(&traces.failures);
    assert_eq!(spans.len(), listed.clone().count());
    let by_id = |one: &ListedOperation| {
        let id = one.trace_id.expect("it was traced").to_string();
        let span = spans.iter().find(|span| span["trace_id"].as_str() == Some(&id));
        span.unwrap_or_else(|| panic!("no span of {id}"))
    };
    for one in listed {
        let span = by_id(one);
        let id = span["trace_id"].as_str().expect("an id");
        assert_eq!(span["span_id"].as_str(), Some(&id[16..]), "the parent that the request named");
        let took = span["end"].as_u64().zip(span["start"].as_u64()).map(|(end, start)| end - start);
        assert_eq!(took, Some(one.response_time_ns));
        assert_eq!(span["error"], one.outcome != "succeeded");
        assert_eq!(span["labels"]["proofload.outcome"], one.outcome);
        assert_eq!(span["labels"]["http.response.status_code"], one.status.code());
    }
}

#[test]
fn opentelemetry_reads_what_is_sent_as_otlp() {
    let lab = Lab::new();
    let child = python("otlp_receiver.py").stdout(Stdio::piped()).spawn().expect("python starts");
    let mut served = Served { child };
    let lines = BufReader::new(served.child.stdout.take().expect("its output")).lines();
    let (tell, told) = std::sync::mpsc::channel();
    // What it prints is more than a pipe holds while nobody reads.
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let next = || told.recv().expect("a line");
    let port = next();
    let (_target, url) = truth(&["mode=status", "share=0.1", "service=5ms"]);
    let otlp = format!("http://127.0.0.1:{port}/");
    run(&lab, &url, "run", &["--otlp", &otlp, "--traceparent"]);
    let own = recorded(&lab, "run");
    let mut points: Vec<Value> = Vec::new();
    let ended = |point: &Value| point["ended"] == true && point["name"] == "proofload_missed_news";
    while !points.last().is_some_and(ended) {
        points.push(serde_json::from_str(&next()).expect("JSON"));
    }
    assert!(points.iter().all(|one| one["unknown"] == 0));
    assert!(points.iter().all(|one| one["type"] == "application/x-protobuf"));
    let (spans, points): (Vec<Value>, Vec<Value>) =
        points.into_iter().partition(|one| one["path"] == "/v1/traces");
    assert_spans(&lab, &spans);
    let last = |name: &str| {
        let found = points.iter().rfind(|one| one["name"] == name && one["ended"] == false);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    let times = last("proofload_operation_response_time");
    assert_eq!(times["labels"]["run"], "run");
    assert_eq!(
        (&times["unit"], &times["scale"], &times["temporality"]),
        (&"s".into(), &5.into(), &2.into())
    );
    assert_eq!(times["count"], own.count());
    let buckets = times["buckets"].as_array().expect("buckets").iter();
    let buckets: Vec<u64> = buckets.filter_map(Value::as_u64).collect();
    assert_eq!(buckets.iter().sum::<u64>() + times["zero"].as_u64().expect("zeros"), own.count());
    // The upper end of the last bucket that is not empty holds the greatest time.
    let offset = times["offset"].as_i64().expect("an offset");
    let end = ((offset + buckets.len() as i64) as f64 / 32.0).exp2() / (own.max() as f64 * 1e-9);
    assert!((1.0 / 1.01..BUCKET * 1.01).contains(&end), "{end}");
    let failed: Vec<&Value> = points
        .iter()
        .filter(|one| {
            one["name"] == "proofload_operations_failed" && one["labels"]["kind"] == "status"
        })
        .collect();
    let trial = only_trial(&lab.summary("run").expect("a summary")).accounting;
    let mut counts = failed.iter().filter_map(|one| one["value"].as_f64());
    assert_eq!(counts.next_back(), Some(trial.failed as f64));
    let instants: Vec<u64> = failed.iter().filter_map(|one| one["time"].as_u64()).collect();
    assert!(
        instants.is_sorted_by(|a, b| a < b) && failed[0]["start"].as_u64() <= Some(instants[0])
    );
    assert_eq!(last("proofload_operations_failed")["kind"], "sum");
    assert_eq!(last("proofload_in_flight")["kind"], "gauge");
}
