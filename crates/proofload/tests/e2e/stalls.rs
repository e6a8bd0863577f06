//! Stalls of the target and of the generator: who is blamed, and with which numbers.

use std::process::Child;

use crate::lab::server::truth;
use crate::lab::{Lab, assert_accounting, only_trial};
use record::summary::{Grade, Operation, Summary, Validity};
use rustix::process::{Pid, Signal, kill_process};

const MILLISECOND: f64 = 1e6;

/// The observed quantile in milliseconds.
fn observed(operation: &Operation, q: f64) -> f64 {
    let found = operation.response_time.quantiles.iter().find(|quantile| quantile.q == q);
    let value = found.and_then(|quantile| quantile.observed_ns);
    value.unwrap_or_else(|| panic!("no q{q}: {operation:?}")) as f64 / MILLISECOND
}

fn assert_near(seen: f64, expected: f64, tolerance: f64) {
    assert!((seen / expected - 1.0).abs() <= tolerance, "saw {seen}, expected {expected}");
}

/// A tenth of the requests are due in the freeze and wait uniformly 0 – 1 s.
fn assert_one_second_freeze(summary: &Summary) {
    let trial = only_trial(summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.planned, 10_000);
    assert_eq!(trial.accounting.started, 10_000);
    assert_eq!(trial.accounting.succeeded, 10_000);
    assert_near(observed(&trial.total, 0.95), 500.0, 0.03);
    assert_near(observed(&trial.total, 0.99), 900.0, 0.02);
    let p95 = trial.total.response_time.quantiles.iter().find(|one| one.q == 0.95);
    assert_eq!(p95.map(|one| one.grade), Some(Grade::Refused), "one stall supports no claim");
}

#[test]
fn a_freeze_of_one_second_shows_in_every_form_of_the_report() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=freeze", "at=4s", "length=1s", "service=50us"]);
    let flags = ["--rate", "1000/s", "--arrivals", "constant", "--duration", "10s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..], &["--warm-up", "0s"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_one_second_freeze(&summary);
    // The same figure, as the pages print it, stands in the three forms for people.
    let p95 = report::number::duration(p95_ns(&summary));
    let html = lab.read("run/report.html");
    let markdown = lab.read("run/report.md");
    for (form, text) in [("text", &ran.stdout), ("Markdown", &markdown), ("HTML", &html)] {
        assert!(text.contains(&p95), "{form} lacks {p95}:\n{text}");
        assert!(text.contains("observed in this sample"), "{form} claims a refused quantile");
    }
}

fn p95_ns(summary: &Summary) -> u64 {
    let quantiles = &only_trial(summary).total.response_time.quantiles;
    quantiles.iter().find(|one| one.q == 0.95).and_then(|one| one.observed_ns).expect("a p95")
}

#[test]
fn a_stopped_nginx_shows_the_same() {
    let lab = Lab::new();
    let (nginx, port) = crate::lab::nginx::nginx(&lab, "nginx", "location / { return 200 ok; }");
    let url = format!("http://127.0.0.1:{port}/");
    let flags = ["--rate", "1000/s", "--arrivals", "constant", "--duration", "10s"];
    let mut arguments =
        vec!["run", &url, "--warm-up", "0s", "--out", "run", "--connections", "2000"];
    arguments.extend(flags);
    let child = lab.start(&arguments);
    after_start_of_measuring(&lab, || stop_for(nginx.child.id(), 1_000));
    finish(child);
    assert_one_second_freeze(&lab.summary("run").expect("a summary"));
}

#[test]
fn a_stopped_generator_makes_the_trial_invalid_and_blames_nobody_else() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--rate", "1000/s", "--arrivals", "constant", "--duration", "8s"];
    let mut arguments = vec!["run", &url, "--warm-up", "0s", "--out", "run"];
    arguments.extend(flags);
    let child = lab.start(&arguments);
    after_start_of_measuring(&lab, || stop_for(child.id(), 400));
    let ran = finish(child);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    assert_eq!(trial.validity, Validity::Invalid);
    assert_eq!(trial.accounting.succeeded, 8_000);
    assert!(trial.reasons.iter().any(|reason| reason.contains("lag")), "{:?}", trial.reasons);
    let codes: Vec<_> = summary.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(codes.contains(&"late-generator"), "{codes:?}");
    assert!(!codes.contains(&"overload"), "the target is not blamed: {codes:?}");
}

/// Runs `act` once the third window of the measure phase was stored: an event, not a guess.
fn after_start_of_measuring(lab: &Lab, act: impl FnOnce()) {
    let events = lab.path("run/trials/001/events.jsonl");
    loop {
        let text = std::fs::read_to_string(&events).unwrap_or_default();
        if text.matches("window_closed").count() >= 3 {
            return act();
        }
        std::thread::yield_now();
    }
}

/// The length of the stop is the known answer here, not a way to wait for something.
fn stop_for(pid: u32, milliseconds: u64) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("not zero");
    kill_process(pid, Signal::STOP).expect("stops the process");
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    kill_process(pid, Signal::CONT).expect("continues the process");
}

fn finish(child: Child) -> crate::lab::Ran {
    crate::lab::Ran::from(child.wait_with_output().expect("the binary ends"))
}
