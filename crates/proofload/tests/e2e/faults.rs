//! Faulty targets: each failure counts under its kind, memory stays bounded, and the run continues.

use crate::lab::server::truth;
use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};

/// Twenty operations against the truth system in this mode.
fn twenty(settings: &[&str]) -> record::summary::TrialSummary {
    let lab = Lab::new();
    let (_truth, url) = truth(settings);
    let flags = ["--requests", "20", "--connections", "4", "--warm-up", "0s", "--timeout", "300ms"];
    let flags = [&flags[..], &["--keep-going"]].concat();
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    trial.clone()
}

#[test]
fn each_fault_of_a_target_is_counted_under_its_kind() {
    let cases: [(&[&str], &str); 7] = [
        (&["mode=reset"], "reset"),
        (&["mode=half"], "closed"),
        (&["mode=garbage"], "malformed"),
        (&["mode=endless_header"], "too_large"),
        (&["mode=status"], "status"),
        (&["mode=hang"], "timeout"),
        (&["mode=lying_length", "lie=more"], "timeout"),
    ];
    for (settings, kind) in cases {
        let trial = twenty(settings);
        let total = &trial.total;
        assert_eq!(trial.accounting.failed, 20, "{settings:?}: {total:?}");
        assert_eq!(total.failures.get(kind), Some(&20), "{settings:?}: {:?}", total.failures);
    }
}

#[test]
fn a_connection_that_is_closed_at_once_is_seen_as_closed_or_reset() {
    let failures = twenty(&["mode=refuse"]).total.failures;
    // It depends on whether the request had arrived when the target closed.
    let seen: u64 = ["closed", "reset"].iter().filter_map(|kind| failures.get(*kind)).sum();
    assert_eq!(seen, 20, "{failures:?}");
}

#[test]
fn the_run_goes_on_after_each_fault() {
    for mode in ["reset", "half", "garbage", "status", "endless_header"] {
        let trial = twenty(&[&format!("mode={mode}"), "share=0.5"]);
        let sums = trial.accounting;
        assert_eq!(sums.succeeded + sums.failed, 20, "{mode}: {sums:?}");
        assert!(sums.succeeded >= 3 && sums.failed >= 3, "{mode}: {sums:?}");
    }
}

#[test]
fn bytes_behind_the_announced_length_are_never_taken_for_an_answer() {
    let trial = twenty(&["mode=lying_length", "lie=less"]);
    // Extra bytes that arrive with the answer make it malformed; those that arrive later are
    // discarded.
    let malformed = trial.total.failures.get("malformed").copied().unwrap_or(0);
    assert_eq!(trial.accounting.succeeded + malformed, 20, "{:?}", trial.total.failures);
}

#[test]
fn a_body_of_two_gibibytes_is_counted_and_never_kept() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=huge_body"]);
    // The address space is smaller than the body: a client that keeps the body fails.
    let ran = lab.shell(&format!(
        "ulimit -v 1500000; exec \"$PROOFLOAD\" run {url} --requests 1 --connections 1 \
         --warm-up 0s --timeout 120s --workers 1 --out run --quiet"
    ));
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.succeeded, 1, "{:?}", trial.total.failures);
    assert!(trial.total.bytes_received > 2 << 30, "{}", trial.total.bytes_received);
}
