//! What the course of a trial leaves of an answer.

use super::*;

fn after(change: impl FnOnce(&mut Course)) -> Judgement {
    judged_after(change).criterion.result
}

#[test]
fn the_course_of_a_trial_limits_what_may_be_concluded() {
    assert_eq!(after(|_| ()), Pass);
    assert_eq!(after(|course| course.reached = false), Inconclusive);
    assert_eq!(after(|course| course.interrupted = true), Inconclusive);
    assert_eq!(after(|course| course.cut_short = true), Inconclusive);
    assert_eq!(after(|course| course.given_up = vec!["p50 < 1s".to_owned()]), Fail);
    assert_eq!(after(|course| course.validity = Validity::Noted), Pass);
    assert_eq!(after(|course| course.validity = Validity::NoSteadyState), Inconclusive);
    assert_eq!(after(|course| course.validity = Validity::Overload), Fail);
    assert_eq!(after(|course| course.validity = Validity::Invalid), Judgement::Invalid);
}

#[test]
fn what_is_counted_needs_no_steady_state() {
    let lost = |criterion: &str| {
        judged_of(criterion, |course| course.validity = Validity::NoSteadyState).criterion.result
    };
    assert_eq!(lost("failed == 0"), Pass);
    assert_eq!(lost("failed == 1"), Fail);
    assert_eq!(lost("failed / planned == 0%"), Pass);
    assert_eq!(lost("mean < 1s"), Inconclusive);
    assert_eq!(lost("goodput > 1/s"), Inconclusive);
}

#[test]
fn a_rehearsal_never_passes_and_may_fail() {
    let mut made = run(&["p99 < 20ms", "p99 < 1us"], 60, 500);
    made.plan.rehearsal = true;
    let results: Vec<_> = made.summary().criteria.iter().map(|one| one.result).collect();
    assert_eq!(results, [Inconclusive, Fail]);
}
