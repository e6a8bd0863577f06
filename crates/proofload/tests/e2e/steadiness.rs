//! Targets whose behaviour changes, live: what the report says about them. Their times are long compared with the
//! lateness of the generator on a busy machine.

use record::summary::{Summary, Validity};

use crate::lab::server::truth;
use crate::lab::{Lab, finding, only_trial};

/// A busy machine may delay the generator or the target and change the result, so there are several attempts.
const ATTEMPTS: u32 = 3;

/// A run of 8 s at this rate against a target with these settings, with one of these validities.
fn run(settings: &[&str], rate: &str, validities: &[Validity]) -> Summary {
    let mut others = Vec::new();
    for _ in 0..ATTEMPTS {
        let lab = Lab::new();
        let (_truth, url) = truth(settings);
        let load = ["--rate", rate, "--arrivals", "constant", "--connections", "400"];
        let phases = ["--duration", "8s", "--warm-up", "1s"];
        let (ran, summary) = lab.run(&[&[url.as_str()], &load[..], &phases].concat());
        let trial = only_trial(&summary);
        if validities.contains(&trial.validity) {
            let steady = trial.validity != Validity::NoSteadyState;
            assert_eq!(ran.code, if steady { 0 } else { 3 });
            return summary;
        }
        others.push(trial.reasons.clone());
    }
    panic!("{others:?}");
}

fn claim<'s>(summary: &'s Summary, code: &str) -> &'s str {
    let said = finding(summary, code).unwrap_or_else(|| panic!("{code}: {:?}", summary.findings));
    assert_eq!(only_trial(summary).reasons[0], format!("no steady state: {said}"));
    said
}

#[test]
fn a_target_that_leaks_has_no_steady_state() {
    // 200 operations in the warm-up, 1,600 measured: from 350 ms to 750 ms.
    let settings = ["mode=leak", "service=300ms", "growth=250us"];
    let summary = run(&settings, "200/s", &[Validity::NoSteadyState]);
    claim(&summary, "drift");
    let drift = summary.findings.iter().find(|finding| finding.code == "drift").expect("just seen");
    let ratio = drift.evidence["median_ratio"].as_f64().expect("a number");
    // On a logarithmic scale, a straight line describes the middle of the curve best.
    assert!((1.7..2.7).contains(&ratio), "{drift:?}");
}

#[test]
fn a_rate_above_capacity_is_a_growing_backlog() {
    let summary = run(&["mode=md1", "rate=200/s"], "300/s", &[Validity::NoSteadyState]);
    let said = claim(&summary, "growing-backlog");
    assert!(said.contains("more was offered than the target finished"), "{said}");
    assert!(finding(&summary, "drift").is_none(), "told once");
}

#[test]
fn a_target_that_stays_as_it_is_raises_no_alarm() {
    let settings = ["mode=constant", "service=1s"];
    let summary = run(&settings, "300/s", &[Validity::Valid, Validity::Noted]);
    for code in ["growing-backlog", "warm-up-too-short", "drift", "level-shift", "uneven-phase"] {
        assert_eq!(finding(&summary, code), None);
    }
}
