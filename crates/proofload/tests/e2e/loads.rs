//! Load models, live: what the report says of each.

use crate::lab::server::truth;
use crate::lab::{Lab, assert_accounting, only_trial};
use record::summary::Model;

#[test]
fn the_throughput_of_thinking_users_is_their_think_time() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=10ms"]);
    let users = ["--users", "50", "--spawn-rate", "10/s", "--think", "1s..3s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &users[..], &["--duration", "20s"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.load.model, Model::Users);
    // N/(Z+R) with N = 50, Z = 2 s, R = 10 ms.
    let expected = 50.0 / (2.0 + 0.010);
    assert!((trial.rates.completed / expected - 1.0).abs() <= 0.06, "{:?}", trial.rates);
    let codes: Vec<_> = summary.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(codes.contains(&"think-time-ceiling"), "{codes:?}");
    assert!(ran.stdout.contains("think time"), "{}", ran.stdout);
}

#[test]
fn a_closed_load_by_count_does_exactly_that_many() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let (ran, summary) =
        lab.run(&[&url, "--requests", "5000", "--connections", "7", "--warm-up", "0s"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.load.model, Model::Closed);
    assert_eq!(trial.accounting.succeeded, 5_000);
    assert!(!ran.stdout.contains("response time at"), "a closed load has no offered rate");
}
