//! A system that waited for its processors while other programs used them.

use plan::experiment::Options;
use plan::plan::TrialPlan;
use record::summary::{Judgement, Process, System};
use record::{FailureKind, Outcome, TrialFacts};

use super::*;
use crate::simulated::designed_with;

const LOAD: &str =
    "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"\nsteady_state = \"reported\"";
const SECOND: u64 = 1_000 * MS;

/// Ten seconds on two processors: processor time and waiting of the system, and processor time of all programs.
struct Used {
    ran_ms: u64,
    waited_ms: u64,
    programs_ms: u64,
}

/// Others used 15 s of 19.5 s, so they caused 4.6 s of the 6 s of waiting.
const CROWDED: Used = Used { ran_ms: 4_000, waited_ms: 6_000, programs_ms: 19_500 };

/// A load whose answers take 30 ms, with this criterion.
fn made(criterion: &str, used: &Used, change: impl FnOnce(&mut Simulated)) -> Summary {
    let mut made = begun(10_000, criterion, used);
    change(&mut made);
    made.summary()
}

/// The same, where this many operations of 10,000 were begun.
fn begun(begun: u64, criterion: &str, used: &Used) -> Simulated {
    let mut made = simulate(&file(LOAD, &[criterion]), 1_000, 10_000, |index| Op {
        outcome: (index < begun).then_some(Outcome::Succeeded),
        ..Op::answered(30 * MS)
    });
    crowd(&mut made.trial, used);
    made
}

/// Puts the trial on such a machine.
fn crowd(trial: &mut TrialFacts, used: &Used) {
    let process = Process {
        cpu_ns: used.ran_ms * MS,
        run_queue_ns: used.waited_ms * MS,
        ..Process::default()
    };
    trial.systems = vec![System { processes: vec![process], ..System::default() }];
    trial.generator.placement = Placement { workers: vec![1], systems: vec![0, 1] };
    trial.generator.process_cpu_ns = SECOND / 2;
    trial.generator.programs_cpu_ns = Some(used.programs_ms * MS);
}

fn result(criterion: &str, used: &Used) -> Judgement {
    made(criterion, used, |_| ()).criteria[0].result
}

#[test]
fn a_failure_that_others_may_have_caused_is_undecided_and_names_them() {
    let summary = made("p99 < 20ms", &CROWDED, |_| ());
    assert_eq!(summary.criteria[0].result, Judgement::Inconclusive);
    assert_eq!(summary.verdict.result, Judgement::Inconclusive);
    let found = summary.findings.iter().find(|one| one.code == "system-crowded").unwrap();
    assert_eq!(
        found.claim,
        "the system waited for its processors: while other programs used 150 % of a processor, its processes were ready \
         and did not run during 53.6 % of the time in which they had work"
    );
    let undecided = summary.findings.iter().find(|one| one.code == "undecided-criterion").unwrap();
    assert!(undecided.advice.contains("waited for its processors"), "{}", undecided.advice);
    let reasons = summary.verdict.reasons.join("; ");
    assert!(reasons.contains("in 1 of 1 trials the system waited"), "{reasons}");
    assert_eq!(summary.arms[0].trials[0].validity, Validity::Noted);
}

#[test]
fn a_wait_delays_all_that_is_in_flight() {
    // 300 in flight: the wait is 0.46 ms an operation, a 650th of its time, and yet it stood still for half of the trial.
    let slow = |used: &Used| {
        let mut made =
            simulate(&file(LOAD, &["p99 < 20ms"]), 1_000, 10_000, |_| Op::answered(300 * MS));
        crowd(&mut made.trial, used);
        made.summary().criteria[0].result
    };
    assert_eq!(slow(&CROWDED), Judgement::Inconclusive);
    // Here it waited for 5 % of the time in which it had work, but for less than 1 % of the trial.
    let rarely = Used { ran_ms: 1_000, waited_ms: 90, programs_ms: 16_500 };
    assert_eq!(slow(&rarely), Judgement::Fail);
}

#[test]
fn what_passes_beside_others_has_passed_and_counts_are_judged() {
    assert_eq!(result("p99 < 40ms", &CROWDED), Judgement::Pass);
    assert_eq!(result("goodput > 900/s", &CROWDED), Judgement::Pass);
    assert_eq!(result("goodput > 1100/s", &CROWDED), Judgement::Inconclusive);
    assert_eq!(result("succeeded > 20000", &CROWDED), Judgement::Fail);
}

#[test]
fn a_system_that_crowds_itself_or_never_waits_fails_as_ever() {
    let alone = Used { programs_ms: 4_600, ..CROWDED };
    let served = Used { waited_ms: 200, ..CROWDED };
    // Its own threads fill the processors; others use a twentieth of that time.
    let saturated = Used { ran_ms: 18_000, waited_ms: 6_000, programs_ms: 19_500 };
    for used in [alone, served, saturated] {
        let summary = made("p99 < 20ms", &used, |_| ());
        assert_eq!(summary.criteria[0].result, Judgement::Fail);
        assert!(!has(&summary, "system-crowded"));
    }
    let unknown = made("p99 < 20ms", &CROWDED, |made| made.trial.generator.programs_cpu_ns = None);
    assert_eq!(unknown.criteria[0].result, Judgement::Fail, "a record of an older version");
}

#[test]
fn refusals_are_no_matter_of_time_and_time_outs_are() {
    let with = |kind| {
        let outcome = Some(Outcome::Failed(kind));
        let op = Op { outcome, ..Op::answered(MS) };
        let mut made = simulate(&file(LOAD, &["p50 < 20ms"]), 1_000, 10_000, |_| op);
        crowd(&mut made.trial, &CROWDED);
        made.summary().criteria[0].result
    };
    assert_eq!(with(FailureKind::Reset), Judgement::Fail);
    assert_eq!(with(FailureKind::Timeout), Judgement::Inconclusive);
}

#[test]
fn the_hypervisor_is_one_of_the_others() {
    let served = Used { ran_ms: 4_000, waited_ms: 0, programs_ms: 4_600 };
    let stolen = made("p99 < 20ms", &served, |made| made.trial.generator.steal_ratio = 0.2);
    assert_eq!(stolen.criteria[0].result, Judgement::Inconclusive);
    let found = stolen.findings.iter().find(|one| one.code == "system-crowded").unwrap();
    assert_eq!(
        found.claim,
        "the system waited for its processors: the hypervisor took 20.0 % of processor time away"
    );
}

#[test]
fn a_rate_that_was_not_held_beside_others_is_no_overload() {
    let missed = |used: &Used| {
        let summary = begun(9_000, "p99 < 40ms", used).summary();
        (summary.arms[0].trials[0].validity, summary.verdict.result)
    };
    assert_eq!(missed(&CROWDED), (Validity::Invalid, Judgement::Invalid));
    let alone = Used { programs_ms: 4_600, ..CROWDED };
    assert_eq!(missed(&alone), (Validity::Overload, Judgement::Fail));
}

#[test]
fn a_trial_that_others_held_up_does_not_fail_by_itself() {
    let failed_alone = |used: &Used| {
        let file = file(LOAD, &["p50 < 20ms"]) + "[design]\nblocks = 3\n";
        let slow_first = |planned: &TrialPlan, _| {
            Op::answered(if planned.index == 1 { 30 * MS } else { 2 * MS })
        };
        let held_up = |planned: &TrialPlan, trial: &mut TrialFacts| {
            if planned.index == 1 {
                crowd(trial, used);
            }
        };
        let rate = (1_000, 10_000);
        let summary = designed_with(&file, &Options::default(), rate, slow_first, held_up);
        has(&summary, "failed-alone")
    };
    assert!(!failed_alone(&CROWDED));
    assert!(failed_alone(&Used { programs_ms: 4_600, ..CROWDED }));
}
