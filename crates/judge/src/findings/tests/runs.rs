//! Kinds of findings that look at several trials.

use record::summary::{Arm, CountsFor, Finding, Machine, TrialSummary};

use crate::case::RunView;
use crate::example;
use crate::findings::{Subject, findings};

/// The findings of a run with these arms and no comparison.
fn of_run(arms: &[Arm], machine: &Machine) -> Vec<Finding> {
    findings(Subject::Run(&RunView { arms, machine, comparisons: &[], questions: 0 }))
}

/// Arms with one trial each: rate, operations begun, failed.
fn arms(trials: &[(f64, u64, u64)]) -> Vec<Arm> {
    let mut arm = example::summary().arms.remove(0);
    let made = |&(rate, started, failed): &(f64, u64, u64)| {
        let trial: &mut TrialSummary = &mut arm.trials[0];
        trial.load.offered_rate = Some(rate);
        trial.accounting.started = started;
        trial.accounting.failed = failed;
        trial.accounting.missed = 0;
        arm.clone()
    };
    trials.iter().map(made).collect()
}

/// The same, with one more trial per arm that does not count: a changed copy of its first one.
fn with_one_aside(arms: &[Arm], change: impl Fn(&mut TrialSummary)) -> Vec<Arm> {
    let mut arms = arms.to_vec();
    for (arm, counts_for) in
        arms.iter_mut().zip([CountsFor::Noise, CountsFor::Nothing].into_iter().cycle())
    {
        let mut aside = TrialSummary { counts_for, ..arm.trials[0].clone() };
        change(&mut aside);
        arm.trials.insert(0, aside);
    }
    arms
}

fn codes(arms: &[Arm], memory: u64) -> Vec<String> {
    let machine = Machine { memory_bytes: memory, ..Machine::default() };
    of_run(arms, &machine).into_iter().map(|finding| finding.code).collect()
}

#[test]
fn eleven_failures_whatever_the_size_have_a_cause_of_their_own() {
    let constant = |second| arms(&[(50.0, 500, 11), (50.0, second, 11), (50.0, 5_000, 11)]);
    assert!(codes(&constant(1_500), 0).contains(&"constant-failures".to_owned()));
    let growing = arms(&[(50.0, 500, 11), (50.0, 1_500, 12), (50.0, 5_000, 11)]);
    assert!(!codes(&growing, 0).contains(&"constant-failures".to_owned()));
    let alike = arms(&[(50.0, 500, 11), (50.0, 510, 11), (50.0, 520, 11)]);
    assert!(!codes(&alike, 0).contains(&"constant-failures".to_owned()));
}

#[test]
fn a_race_is_told_from_a_constant_share() {
    // 1 − exp(−λ·4 ms) of 20,000 at 10, 50 and 100/s: 3.92, 18.13 and 32.97 %.
    let race = arms(&[(10.0, 20_000, 784), (50.0, 20_000, 3_625), (100.0, 20_000, 6_594)]);
    let found = of_run(&race, &Machine::default());
    let finding = found.iter().find(|finding| finding.code == "race-window").unwrap();
    let window = finding.evidence["window_s"].as_f64().unwrap();
    assert!((window - 0.004).abs() < 1e-4, "{window}");
    let constant = arms(&[(10.0, 20_000, 800), (50.0, 20_000, 820), (100.0, 20_000, 790)]);
    assert!(!codes(&constant, 0).contains(&"race-window".to_owned()));
    let steeper = arms(&[(10.0, 20_000, 100), (50.0, 20_000, 3_000), (100.0, 20_000, 15_000)]);
    assert!(!codes(&steeper, 0).contains(&"race-window".to_owned()));
}

#[test]
fn few_trials_an_arm_are_told_where_there_are_arms_to_compare() {
    assert_eq!(codes(&arms(&[(10.0, 100, 0), (20.0, 100, 0)]), 0), ["few-trials"]);
    assert!(codes(&arms(&[(10.0, 100, 0)]), 0).is_empty());
}

#[test]
fn arms_have_enough_trials_where_check_would_let_them_be_compared() {
    let told = |trials: usize, questions: usize| {
        let mut arms = arms(&[(10.0, 100, 0), (20.0, 100, 0)]);
        for arm in &mut arms {
            arm.trials = vec![arm.trials[0].clone(); trials];
        }
        let machine = &Machine::default();
        let whole = RunView { arms: &arms, machine, comparisons: &[], questions };
        let found = findings(Subject::Run(&whole));
        found.into_iter().find(|one| one.code == "few-trials").map(|one| one.advice)
    };
    // 2/2⁶ is below 5 %; for four questions, 4 · 2/2⁷ is above and 4 · 2/2⁸ below.
    assert_eq!(told(3, 0).as_deref(), Some("plan 6 blocks or more"));
    assert_eq!(told(5, 1).as_deref(), Some("plan 6 blocks or more"));
    assert_eq!(told(7, 4).as_deref(), Some("plan 8 blocks or more"));
    assert_eq!((told(6, 1), told(8, 4)), (None, None));
}

#[test]
fn memory_that_is_nearly_full_is_told() {
    let mut one = arms(&[(10.0, 100, 0)]);
    let held: u64 = one[0].trials[0]
        .systems
        .iter()
        .flat_map(|system| &system.processes)
        .map(|process| process.rss_peak_bytes)
        .sum();
    assert!(held > 0, "the example has a process");
    assert_eq!(codes(&one, held * 5 / 4), ["memory-tight"]);
    one[0].trials[0].systems.clear();
    assert!(codes(&one, held * 5 / 4).is_empty());
}

#[test]
fn trials_that_do_not_count_neither_make_nor_hide_what_is_told_of_a_run() {
    let told = |arms: &[Arm], memory, change: fn(&mut TrialSummary)| {
        let plain = of_run(arms, &Machine { memory_bytes: memory, ..Machine::default() });
        let aside = with_one_aside(arms, change);
        let told = of_run(&aside, &Machine { memory_bytes: memory, ..Machine::default() });
        assert_eq!(told, plain);
        told.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    let constant = arms(&[(50.0, 500, 11), (50.0, 1_500, 11), (50.0, 5_000, 11)]);
    let found = told(&constant, 0, |trial| trial.accounting.failed = 12);
    assert_eq!(found, ["constant-failures", "few-trials"]);
    let race = arms(&[(10.0, 20_000, 784), (50.0, 20_000, 3_625), (100.0, 20_000, 6_594)]);
    let found = told(&race, 0, |trial| trial.accounting.failed = 19_000);
    assert_eq!(found, ["race-window", "few-trials"]);
    let found = told(&arms(&[(10.0, 100, 0)]), 1 << 40, |trial| {
        trial.systems[0].processes[0].rss_peak_bytes = 1 << 40;
    });
    assert!(found.is_empty(), "{found:?}");
}
