//! Criteria on systems that grow by design.

use super::*;

/// 20/s for 60 s with times that grow from 1 to 6 ms, plus up to 1 ms by chance; in the last third, one in `slow`
/// takes 300 ms.
fn growing(criteria: &[&str], slow: u64) -> Simulated {
    let load =
        "rate = \"20/s\"\narrivals = \"constant\"\nduration = \"60s\"\nsteady_state = \"reported\"";
    simulate(&file(load, criteria), 20, 1_200, |index| {
        let chance = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
        let is_slow = index > 800 && index % slow == 0;
        Op::answered(if is_slow { 300 * MS } else { MS + index * MS / 240 + chance })
    })
}

#[test]
fn a_quantile_of_a_system_that_grows_is_judged_around_its_drift() {
    let asked = ["p99 < 250ms", "p95 < 100ms", "service p95 < 100ms", "p50 > 100ms", "mean < 1s"];
    let summary = growing(&asked, 10_000).summary();
    let seen: Vec<_> = summary.criteria.iter().map(|one| (one.result, one.drifting)).collect();
    let quantiles = [(Pass, true), (Pass, true), (Pass, true), (Fail, true)];
    assert_eq!(seen, [&quantiles[..], &[(Pass, false)]].concat());
    // Of 1,200 operations first 15 are slow, then 199; p99 allows 12, and p95 allows 60.
    let results = |slow| -> Vec<Judgement> {
        let summary = growing(&asked[..2], slow).summary();
        summary.criteria.iter().map(|one| one.result).collect()
    };
    assert_eq!((results(25), results(2)), (vec![Inconclusive, Pass], vec![Fail, Fail]));
}

#[test]
fn trials_that_take_the_same_course_are_judged_together() {
    let one = growing(&["p99.9 < 250ms"], 10_000);
    assert_eq!(one.summary().criteria[0].result, Inconclusive);
    assert_eq!(summary_of(&[&one, &one, &one]).criteria[0].result, Pass);
}

#[test]
fn a_system_in_one_state_is_not_judged_around_a_drift() {
    let made = growing(&["p99 < 20ms"], 10_000);
    let answer = |drifts| {
        let mut evidence = Evaluation { drifts, ..evaluations(&made.plan).remove(0) };
        let total = made.trial.totals.total();
        evidence.begin_trial(&made.trial, &total, &[]);
        made.windows().iter().for_each(|window| evidence.add_window(window));
        evidence.end_trial(&made.trial, &total, &[]);
        if evidence.wants_again() {
            made.windows().iter().for_each(|window| evidence.add_window_again(window));
        }
        evidence.sample(&evidence.current).decide().result
    };
    assert_eq!((answer(false), answer(true)), (Inconclusive, Pass));
}
