//! From operations to the spans that OpenTelemetry records of them in a service.

use std::collections::BTreeMap;

use record::summary::{ListedOperation, Summary};
use serde_json::Value;

use crate::journeys::application::{Application, python};
use crate::lab::server::truth;
use crate::lab::{Lab, assert_accounting, only_trial};

/// Rank correlation that two times of the same operations have at least, though other work disturbs both.
const ALIKE: f64 = 0.5;

/// A service whose spans are written to `spans.jsonl` of the lab.
fn watched(lab: &Lab) -> Application {
    let options = ["-m", "uvicorn", "--port", "0", "--no-access-log", "traced:app"];
    let mut command = python(lab, &options);
    command.env("SPANS", lab.path("spans.jsonl"));
    Application::start(command)
}

/// A request as its service saw it.
struct Seen {
    status: Option<i64>,
    /// Of the span of the whole request.
    span_ns: u64,
    /// From its start to the moment at which the answer began to leave: all of that is within the client's time, while
    /// a span may end after the client has the answer.
    until_answer_ns: u64,
}

/// By trace id.
fn spans(lab: &Lab) -> BTreeMap<String, Seen> {
    let text = lab.read("spans.jsonl");
    let spans: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let number = |span: &Value, key: &str| span[key].as_u64().expect("an instant");
    let id = |span: &Value| span["trace_id"].as_str().expect("an id").to_owned();
    let mut first_sends: BTreeMap<String, u64> = BTreeMap::new();
    for span in spans
        .iter()
        .filter(|span| span["name"].as_str().is_some_and(|one| one.ends_with("http send")))
    {
        let start = number(span, "start_ns");
        let first = first_sends.entry(id(span)).or_insert(start);
        *first = start.min(*first);
    }
    let servers = spans.iter().filter(|span| span["kind"] == "SERVER");
    let seen = servers.map(|span| {
        assert_eq!(span["from_remote"], true, "its parent is the operation: {span}");
        let (start, end) = (number(span, "start_ns"), number(span, "end_ns"));
        let seen = Seen {
            status: span["status"].as_i64(),
            span_ns: end - start,
            until_answer_ns: first_sends[&id(span)] - start,
        };
        (id(span), seen)
    });
    seen.collect()
}

fn trace_id(operation: &ListedOperation) -> String {
    operation.trace_id.expect("its request was sent").to_string()
}

/// Spearman's, without a correction for ties.
fn rank_correlation(pairs: &[(u64, u64)]) -> f64 {
    let ranks = |values: Vec<u64>| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|&place| values[place]);
        let mut ranks = vec![0.0; values.len()];
        order.iter().enumerate().for_each(|(rank, &place)| ranks[place] = rank as f64);
        ranks
    };
    let count = pairs.len() as f64;
    let (first, second) = pairs.iter().copied().unzip();
    let squares = ranks(first).into_iter().zip(ranks(second)).map(|(a, b)| (a - b) * (a - b));
    let squares: f64 = squares.sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

fn experiment(url: &str) -> String {
    format!(
        "title = \"Traced\"\n[target]\nurl = \"{url}\"\n[load]\nrate = \"100/s\"\nduration = \"4s\"\n\
         warm_up = \"500ms\"\n[trace]\nurl = \"https://traces.example/{{trace_id}}\"\n\
         [[operation]]\nname = \"work\"\nweight = 9\nhttp = {{ path = \"/work/{{{{sequence}}}}\" }}\n\
         [[operation]]\nname = \"fail\"\nhttp = {{ path = \"/fail\" }}\n"
    )
}

fn lines(lab: &Lab) -> Vec<Value> {
    let made = lab.proofload(&["report", "run", "--format", "traces"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    made.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn every_listed_operation_is_found_among_the_spans_of_its_service() {
    let lab = Lab::new();
    let service = watched(&lab);
    let file = lab.write("traced.toml", &experiment(&service.url));
    let (_, summary) = lab.run(&[file.to_str().expect("a path")]);
    drop(service);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let traces = trial.traces.as_ref().expect("it was traced");
    let spans = spans(&lab);
    assert_eq!(traces.slowest.len(), 100);
    let mut pairs = Vec::new();
    for operation in &traces.slowest {
        let seen = spans.get(&trace_id(operation)).unwrap_or_else(|| panic!("{operation:?}"));
        assert!(seen.until_answer_ns <= operation.service_time_ns, "{operation:?}");
        pairs.push((operation.service_time_ns, seen.span_ns));
    }
    let alike = rank_correlation(&pairs);
    assert!(alike > ALIKE, "{alike}: {pairs:?}");
    let failed = trial.accounting.failed + trial.accounting.abandoned;
    assert!(traces.failures.len() > 10 && traces.failures_total <= failed);
    assert_eq!((traces.failures_total, traces.failures_unlisted), (trial.accounting.failed, 0));
    for operation in traces.failures.iter().filter(|one| one.outcome == "status") {
        assert_eq!((operation.operation.as_str(), operation.status.code()), ("fail", 500));
        assert_eq!(spans[&trace_id(operation)].status, Some(500), "{operation:?}");
    }
    assert_links(&lab, &summary);
}

fn assert_links(lab: &Lab, summary: &Summary) {
    let traces = only_trial(summary).traces.as_ref().expect("it was traced");
    let id = trace_id(&traces.slowest[0]);
    let url = format!("https://traces.example/{id}");
    let listed = lines(lab);
    assert_eq!(listed.len() as u64, 100 + traces.failures_total);
    assert_eq!(
        (&listed[0]["url"], &listed[0]["list"]),
        (&Value::from(url.clone()), &"slowest".into())
    );
    assert!(lab.read("run/report.md").contains(&format!("[{id}](<{url}>)")));
    assert!(lab.read("run/report.html").contains(&format!("{id}\" rel=\"noreferrer\">{id}</a>")));
}

#[test]
fn flags_trace_a_share_and_a_share_of_0_is_refused() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let load = ["--rate", "500/s", "--duration", "2s", "--warm-up", "0s"];
    let (_, summary) = lab.run(&[&[url.as_str(), "--traceparent=10%"], &load[..]].concat());
    let traces = only_trial(&summary).traces.as_ref().expect("it was traced");
    assert!((40..=100).contains(&traces.slowest.len()), "{}", traces.slowest.len());
    for (flag, expected) in [
        ("--traceparent=0%", "--traceparent: expected a share such as 25%"),
        ("--trace-url=javascript:alert('{trace_id}')", "--trace-url is not an address"),
        ("--trace-url=https://t.example/", "--trace-url lacks `{trace_id}`"),
        (
            "--trace-url=https://u:p4ss@t.example/{trace_id}",
            "--trace-url may not hold user and password",
        ),
    ] {
        let refused = lab.proofload(&[&["run", url.as_str(), flag], &load[..]].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
        assert!(!refused.stderr.contains("p4ss"), "{refused:?}");
    }
}
