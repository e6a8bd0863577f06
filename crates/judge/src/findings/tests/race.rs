//! Failures by colliding operations.

use record::summary::{Arm, Finding, Machine};

use crate::case::RunView;
use crate::example;
use crate::findings::{Subject, findings};

/// Arms with one trial each: level of `rate`, operations a second, answers to `home`, and how many of those were
/// wrong.
fn arms(levels: &[(f64, u64, u64)]) -> Vec<Arm> {
    let model = example::flawless(1).arms.remove(0);
    let made = |&(rate, answers, wrong): &(f64, u64, u64)| {
        let mut arm = model.clone();
        arm.name = format!("rate={rate}");
        arm.factors.insert("rate".to_owned(), rate.into());
        let trial = &mut arm.trials[0];
        trial.load.offered_rate = Some(rate);
        trial.phases.measure_ns = (answers as f64 / rate * 1e9) as u64;
        trial.operations.truncate(1);
        let home = &mut trial.operations[0];
        (home.planned, home.succeeded, home.failed, home.abandoned) =
            (answers, answers - wrong, wrong, 0);
        home.failures = [("wrong_content".to_owned(), wrong)].into();
        arm
    };
    levels.iter().map(made).collect()
}

fn found(arms: &[Arm]) -> Option<Finding> {
    let machine = &Machine::default();
    let found = findings(Subject::Run(&RunView { arms, machine, comparisons: &[], questions: 0 }));
    found.into_iter().find(|one| one.code == "race-window")
}

fn claim(arms: &[Arm]) -> Option<String> {
    found(arms).map(|one| one.claim)
}

fn number(finding: &Finding, name: &str) -> f64 {
    finding.evidence[name].as_f64().unwrap()
}

#[test]
fn wrong_content_at_one_rate_says_what_a_race_would_make_at_others() {
    let mut one = arms(&[(12.26, 10_000, 481)]);
    one[0].name = "all".to_owned();
    let finding = found(&one).unwrap();
    assert_eq!(
        finding.claim,
        "4.81 % of the answers to home had wrong content at 12.3/s, which fits a race with a window of 4.02 ms (95 %: \
         3.68 ms – 4.40 ms): it would be 9.39 % at 24.5/s and 17.9 % at 49.0/s"
    );
    assert_eq!(finding.operation.as_deref(), Some("home"));
    assert!((number(&finding, "window_s") - 0.004_021).abs() < 1e-6);
    assert!((number(&finding, "window_low_s") - 0.003_68).abs() < 2e-5);
    assert!((number(&finding, "share_at_four_times") - 0.179_0).abs() < 5e-4);
    assert!(finding.advice.starts_with("measure at another rate"));
}

#[test]
fn several_rates_test_whether_one_window_fits() {
    // 1 − exp(−λ·4 ms) at 10, 50 and 100/s: 3.92, 18.13 and 32.97 %.
    let race = [(10.0, 20_000, 784), (50.0, 20_000, 3_625), (100.0, 20_000, 6_594)];
    let told = claim(&arms(&race)).unwrap();
    assert!(
        told.starts_with(
            "wrong content in answers to home fits a race with one window of 4.00 ms (95 %: "
        ),
        "{told}"
    );
    assert!(
        told.contains("at 3 rates (3.92 % at 10.0/s, 18.1 % at 50.0/s, 33.0 % at 100/s)"),
        "{told}"
    );
    assert!(told.ends_with("it would be 55.1 % at 200/s and 79.8 % at 400/s"), "{told}");
    let constant = [(10.0, 20_000, 800), (50.0, 20_000, 820), (100.0, 20_000, 790)];
    let finding = found(&arms(&constant)).unwrap();
    assert!(finding.claim.contains("does not fit a race"), "{}", finding.claim);
    assert!(
        finding.claim.contains("4.00 % at 10.0/s would take one of 4.08 ms"),
        "{}",
        finding.claim
    );
    assert_eq!(finding.evidence["fits"], false);
    let few = [(10.0, 400, 8), (20.0, 400, 10)];
    assert!(claim(&arms(&few)).unwrap().contains("; so does one share for all of them: "));
}

#[test]
fn what_says_nothing_of_a_race_is_silent() {
    assert_eq!(claim(&arms(&[(12.26, 10_000, 4)])), None, "too few");
    assert!(claim(&arms(&[(12.26, 10_000, 5)])).is_some());
    assert_eq!(claim(&arms(&[(12.26, 1_000, 900)])), None, "nearly all of them");
    assert!(claim(&arms(&[(12.26, 1_000, 899)])).is_some());
    let with_errors = |errors: u64| {
        let mut arms = arms(&[(12.26, 10_000, 481)]);
        let home = &mut arms[0].trials[0].operations[0];
        home.failures.insert("status".to_owned(), errors);
        home.failed += errors;
        home.succeeded -= errors;
        claim(&arms)
    };
    assert_eq!(with_errors(49), None, "the target says that something is wrong");
    assert!(with_errors(48).is_some());
}

#[test]
fn arms_that_differ_in_more_than_their_load_are_no_rates_of_one_race() {
    let mut arms = arms(&[(10.0, 20_000, 784), (100.0, 20_000, 6_594)]);
    arms[0].factors.insert("way".to_owned(), "file".into());
    arms[1].factors.insert("way".to_owned(), "memory".into());
    let told = claim(&arms).unwrap();
    assert!(
        told.starts_with(
            "33.0 % of the answers to home had wrong content at 100/s in arm rate=100"
        ),
        "{told}"
    );
    // They now differ only in `way`, with the same load.
    for arm in &mut arms {
        arm.factors.remove("rate");
        arm.trials[0].load.offered_rate = None;
    }
    assert!(claim(&arms).unwrap().starts_with("33.0 % of the answers to home"));
}
