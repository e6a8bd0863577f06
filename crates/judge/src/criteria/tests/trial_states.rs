//! How the state of a trial restricts the result of a criterion.

use super::*;

fn after(change: impl FnOnce(&mut TrialState)) -> Judgement {
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
fn times_and_rates_of_a_crowded_closed_load_are_not_judged_and_counts_are() {
    let crowded =
        |criterion: &str| judged_of(criterion, |course| course.crowded = true).criterion.result;
    for timed in ["p50 < 1s", "p50 < 1us", "mean < 1s", "max < 1s", "goodput > 1/s"] {
        assert_eq!(crowded(timed), Inconclusive, "{timed}");
    }
    assert_eq!(crowded("failed == 0"), Pass);
    assert_eq!(crowded("failed == 1"), Fail);
    assert_eq!(crowded("failed / planned == 0%"), Pass);
    let given_up = |course: &mut TrialState| {
        (course.crowded, course.given_up) = (true, vec!["p50 < 1s".to_owned()]);
    };
    assert_eq!(after(given_up), Inconclusive, "what the crowd could not meet is no failure");
    let invalid = |course: &mut TrialState| {
        (course.crowded, course.validity) = (true, Validity::Invalid);
    };
    assert_eq!(after(invalid), Judgement::Invalid);
}

#[test]
fn a_worker_that_waits_leaves_a_closed_load_undecided_and_an_open_one_judged() {
    let results = |load: &str, waits: bool| {
        let load = format!("{load}\nduration = \"4s\"\nsteady_state = \"reported\"");
        let criteria = ["p50 < 20ms", "goodput > 50/s", "failed == 0"];
        let mut made = simulate(&file(&load, &criteria), 100, 400, |_| Op::answered(MS));
        if waits {
            made.trial.generator.worker_run_queue_ns = vec![made.trial.generator.watched_ns / 3];
        }
        let summary = made.summary();
        let results: Vec<_> = summary.criteria.iter().map(|one| one.result).collect();
        (results, crate::verdict::exit(&summary) as u8)
    };
    let (open, closed) = ("rate = \"100/s\"\narrivals = \"constant\"", "connections = 1");
    assert_eq!(results(closed, false), (vec![Pass; 3], 0));
    assert_eq!(results(closed, true), (vec![Inconclusive, Inconclusive, Pass], 3));
    assert_eq!(results(open, true), (vec![Pass; 3], 0), "its lag shows what the crowd did");
}

#[test]
fn a_rehearsal_never_passes_and_may_fail() {
    let mut made = run(&["p99 < 20ms", "p99 < 1us"], 60, 500);
    made.plan.rehearsal = true;
    let results: Vec<_> = made.summary().criteria.iter().map(|one| one.result).collect();
    assert_eq!(results, [Inconclusive, Fail]);
}
