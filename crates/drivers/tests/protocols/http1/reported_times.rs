//! What the target says of its own time becomes spans.

use record::Outcome;

use crate::http1::peer::answered;
use crate::http1::stand::operation;

/// Spans of three parts, after an answer with this `Server-Timing`.
fn told(fields: &str, status: &str) -> ([Option<u64>; 3], Outcome) {
    let operation = operation("http = { server_timing = [\"front\", \"gateway\", [\"embed\"]] }");
    let answer = format!("HTTP/1.1 {status}\r\n{fields}content-length: 0\r\n\r\n");
    let (outcome, exchange) = answered(&operation, &[answer.as_bytes()]);
    assert_eq!(exchange.spans.get(2), Some(1), "the first byte keeps its place");
    ([3, 4, 5].map(|place| exchange.spans.get(place)), outcome)
}

#[test]
fn named_metrics_become_spans_in_nanoseconds() {
    let fields = "Server-Timing: embed;dur=0.012, other;dur=9, gateway;desc=\"a;dur=7\";dur=0.17\r\n\
                  server-timing: front;dur=\"20.5\"\r\n";
    let times = [Some(20_500_000), Some(170_000), Some(12_000)];
    assert_eq!(told(fields, "200 OK"), (times, Outcome::Succeeded));
}

#[test]
fn what_is_named_twice_is_added_up_and_what_has_no_time_is_absent() {
    let fields = "server-timing: gateway;dur=1, gateway;dur=0.5, embed\r\n";
    assert_eq!(told(fields, "200 OK").0, [None, Some(1_500_000), None]);
    assert_eq!(told("", "200 OK").0, [None; 3]);
}

#[test]
fn bad_syntax_fails_no_operation() {
    let fields = "server-timing: gateway;dur=x, embed;dur=0.5, \"\r\n";
    assert_eq!(told(fields, "200 OK"), ([None, None, Some(500_000)], Outcome::Succeeded));
}

#[test]
fn an_answer_that_is_a_failure_tells_its_times_as_well() {
    let (times, outcome) = told("server-timing: gateway;dur=3\r\n", "503 No");
    assert_eq!(times, [None, Some(3_000_000), None]);
    assert!(matches!(outcome, Outcome::Failed(_)));
}
