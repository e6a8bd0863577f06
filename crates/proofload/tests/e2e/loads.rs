//! Load models, live: what the report says about each.

use record::summary::{Judgement, Model, Validity};

use crate::lab::server::truth;
use crate::lab::{Lab, assert_accounting, assert_measured, finding, only_trial};

#[test]
fn the_throughput_of_thinking_users_is_their_think_time() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=10ms"]);
    let users = ["--users", "50", "--spawn-rate", "10/s", "--think", "1s..3s", "--seed", "7"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &users[..], &["--duration", "20s"]].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.load.model, Model::Users);
    // N/(Z+R) with N = 50, Z = 2 s, R = 10 ms; the think times are those of this seed.
    let expected = 50.0 / (2.0 + 0.010);
    assert!((trial.rates.completed / expected - 1.0).abs() <= 0.03, "{:?}", trial.rates);
    let said = finding(&summary, "think-time-ceiling").expect("the report says so");
    assert!(said.contains("think time"), "{said}");
    assert!(ran.stdout.contains("think time"), "{}", ran.stdout);
}

#[test]
fn a_closed_load_by_count_does_exactly_that_many() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let (ran, summary) =
        lab.run(&[&url, "--requests", "5000", "--connections", "7", "--warm-up", "0s"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.load.model, Model::Closed);
    assert_eq!(trial.accounting.succeeded, 5_000);
    assert_eq!(trial.total.spans["connect"].count, 7, "seven connections kept alive");
    assert!(!ran.stdout.contains("Response time at"), "a closed load has no offered rate");
}

#[test]
fn a_new_connection_for_each_operation_if_asked_for() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--requests", "300", "--connections", "3", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..], &["--new-connections"]].concat());
    assert_measured(&ran, &summary);
    assert_eq!(only_trial(&summary).total.spans["connect"].count, 300);
}

#[test]
fn waiting_for_the_only_connection_is_noted() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=10ms"]);
    let flags = ["--rate", "80/s", "--connections", "1", "--duration", "3s", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, trial.accounting.planned, "they wait, none is lost");
    let said = finding(&summary, "pool-limited").expect("the pool is named");
    assert!(said.contains("1 connections"), "{said}");
    assert!(finding(&summary, "overload").is_none());
}

/// One connection with 20 ms per operation sustains 50/s. At 500/s the queue exceeds its limit (1.2
/// times the arrivals of one time-out) long before the end.
fn overloaded(criteria: &[&str]) {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=20ms"]);
    let flags = ["--rate", "500/s", "--connections", "1", "--duration", "2s", "--warm-up", "0s"];
    let more = [&["--timeout", "200ms"], criteria].concat();
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..], &more].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.validity, Validity::Overload);
    assert!(trial.accounting.missed > 0);
    assert!(trial.in_flight.max <= 120, "{:?}", trial.in_flight);
    assert!(finding(&summary, "overload").is_some());
    let failed = summary.criteria.iter().all(|one| one.result == Judgement::Fail);
    assert!(failed, "every criterion fails: {:?}", summary.criteria);
}

#[test]
fn an_overload_fails_the_run_without_a_criterion() {
    overloaded(&[]);
}

#[test]
fn an_overload_fails_a_criterion_that_the_succeeded_ones_would_meet() {
    overloaded(&["--criterion", "mean < 60s"]);
}
