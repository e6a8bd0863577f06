//! The reason and the place that the finding for an undecided criterion names.

use super::*;

#[test]
fn an_undecided_criterion_is_advised_by_its_reason() {
    let advice = |change: fn(&mut TrialState)| {
        let judged = judged_after(change);
        assert_eq!(judged.criterion.result, Inconclusive);
        judged.findings[0].advice.clone()
    };
    let unsteady = advice(|course| course.validity = Validity::NoSteadyState);
    assert_eq!(unsteady, "see trial 1, without a steady state: nothing is concluded from it");
    let short = advice(|course| course.reached = false);
    assert_eq!(short, "see trial 1, which did not begin all that was planned");
    let crowded = advice(|course| course.crowded = true);
    assert!(crowded.starts_with("see trial 1, in which the generator waited for its"), "{crowded}");
    assert_eq!(advice(|course| course.interrupted = true), "run it to its end");
    assert_eq!(advice(|course| course.cut_short = true), "run it to its end");
    let made = run(&["p50 < 1s"], 10, 500);
    let nothing = evaluations(&made.plan).remove(0).judge(false);
    assert!(nothing.findings[0].advice.starts_with("no trial of the arm was executed"));
}

#[test]
fn an_undecided_criterion_says_in_which_arm() {
    let made = run(&["p50 < 1s"], 10, 500);
    let claim = |arm: &str| {
        let evidence = Evaluation { arm: arm.to_owned(), ..evaluations(&made.plan).remove(0) };
        evidence.judge(false).findings[0].claim.clone()
    };
    assert_eq!(claim("size=1KiB"), "`p50 < 1s` in arm size=1KiB cannot be decided by this run");
    assert_eq!(claim("all"), "`p50 < 1s` cannot be decided by this run");
}
