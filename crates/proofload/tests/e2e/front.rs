//! The front before targets of known behaviour: the measured overhead is the configured one, and it stops on request.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::lab::nginx::nginx;
use crate::lab::process::pid;
use crate::lab::server::{Served, Truth, bundled, truth};
use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};

/// A front before this upstream, and its URL.
fn front(upstream: &str, settings: &[&str]) -> (Served, String) {
    let upstream = format!("upstream={}", upstream.trim_end_matches('/'));
    let (served, ready) = bundled("search-front", &[&[upstream.as_str()], settings].concat());
    let url = format!("http://{}/", address(&ready));
    (served, url)
}

fn address(ready: &Value) -> &str {
    ready["listening"]["http"].as_str().expect("an address in the ready line")
}

/// Four connections take turns: each waits for the three others, at 3 ms each.
#[test]
fn a_serial_front_with_a_cost_is_seen_as_one() {
    let lab = Lab::new();
    let (_truth, upstream) = truth(&["mode=none"]);
    let (_front, url) = front(&upstream, &["serial=true", "cost=3ms"]);
    let arguments = ["--requests", "200", "--connections", "4", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &arguments[..]].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 200, "{:?}", trial.total.failures);
    let median = trial.total.service_time.quantiles[0].observed_ns.expect("a median");
    assert!(median > 11_000_000, "the median is {median} ns");
}

#[test]
fn every_request_through_it_is_answered_and_its_connections_are_kept() {
    let lab = Lab::new();
    let (_nginx, port) = nginx(&lab, "behind", "location / { return 200 hello; }");
    let (_front, url) = front(&format!("http://127.0.0.1:{port}"), &["threads=2"]);
    let arguments = ["--requests", "4000", "--connections", "20", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &arguments[..]].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_eq!(trial.total.statuses["200"], 4_000);
    assert_eq!(trial.total.spans["connect"].count, 20);
}

#[test]
fn told_to_stop_it_answers_what_is_under_way_and_exits_0() {
    let truth = Truth::start(&["mode=slow_body", "over=500ms", "body=1000B"]);
    let (mut served, url) = front(&format!("http://{}", truth.http), &[]);
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").expect("asks");
    let mut begun = [0_u8; 1];
    stream.read_exact(&mut begun).expect("an answer begins");
    kill_process(pid(&served.child), Signal::TERM).expect("signals");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the answer is finished");
    let (head, body) = rest.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("200"), "{head}");
    assert_eq!(body.len(), 1_000, "the whole body");
    let status = served.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn without_an_upstream_it_does_not_start() {
    let lab = Lab::new();
    let ran = lab.proofload(&["serve", "search-front", "--set", "serial=perhaps"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for part in ["upstream: expected where requests go", "serial: expected true or false"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}
