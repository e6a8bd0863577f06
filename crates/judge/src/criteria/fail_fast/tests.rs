use record::{FailureKind, Outcome};

use super::*;
use crate::simulated::{Op, Simulated, file, simulate};

const MS: u64 = 1_000_000;
const LOAD: &str = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";

/// 200/s for 60 s, 1 ms each.
fn run(load: &str, criterion: &str, one: impl Fn(u64) -> Op) -> Simulated {
    simulate(&file(load, &[criterion]), 200, 12_000, one)
}

/// The window with which the criterion was given up, and why.
fn given_up(made: &Simulated) -> Option<(u64, String)> {
    let mut fail_fast = FailFast::new(&made.plan);
    fail_fast.begin(&made.plan.trials[..1], made.trial.window_ns);
    let mut lost = made.windows().iter().flat_map(|window| {
        fail_fast
            .add(0, window)
            .into_iter()
            .map(|lost| (window.number, lost.why))
            .collect::<Vec<_>>()
    });
    let first = lost.next();
    assert_eq!(lost.next(), None, "a criterion is given up once");
    first
}

fn check(load: &str, criterion: &str, one: impl Fn(u64) -> Op, expected: Option<(u64, &str)>) {
    let expected = expected
        .map(|(window, why)| (window, format!("`{criterion}` can no longer be met: {why}")));
    assert_eq!(given_up(&run(load, criterion, one)), expected, "{criterion}");
}

/// Fails the 100th operation of each of these seconds.
fn failing(seconds: &'static [u64]) -> impl Fn(u64) -> Op {
    move |index| Op {
        outcome: Some(if index % 200 == 100 && seconds.contains(&(index / 200)) {
            Outcome::Failed(FailureKind::Status)
        } else {
            Outcome::Succeeded
        }),
        ..Op::answered(MS)
    }
}

/// Takes 30 ms instead of 1 ms from this second on.
fn slow_from(second: u64) -> impl Fn(u64) -> Op {
    move |index| Op::answered(if index / 200 >= second { 30 * MS } else { MS })
}

#[test]
fn a_count_that_is_too_high_only_grows() {
    check(LOAD, "failed == 0", failing(&[7, 9]), Some((7, "it is already at least 1")));
    check(LOAD, "failed < 2", failing(&[7, 9]), Some((9, "it is already at least 2")));
    check(LOAD, "home failed <= 2", failing(&[7, 9]), None);
    let most = "it can reach at most 2";
    check(LOAD, "failed > 2", failing(&[7, 9]), Some((59, most)));
    check(LOAD, "missed == 0", |_| Op::answered(MS), None);
}

#[test]
fn a_kind_of_failure_is_given_up_by_its_own_count() {
    check(LOAD, "status == 0", failing(&[7, 9]), Some((7, "it is already at least 1")));
    check(LOAD, "wrong_content == 0", failing(&[7, 9]), None);
    // 0.1 % of 12,000 are 12.
    let all: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    let least = "it is already at least 0.10 %";
    check(LOAD, "status / planned < 0.1%", failing(all), Some((11, least)));
    check(LOAD, "wrong_content / planned < 0.1%", failing(all), None);
}

#[test]
fn what_can_no_longer_be_reached_is_given_up() {
    // 12,000 are planned.
    let most = "it can reach at most 11,999";
    check(LOAD, "succeeded == 12000", failing(&[5]), Some((5, most)));
    check(LOAD, "succeeded >= 11999", failing(&[5]), None);
    check(LOAD, "goodput >= 200/s", failing(&[5]), Some((5, "it can reach at most 200/s")));
    check(LOAD, "goodput > 199/s", failing(&[5, 6]), None);
    check(LOAD, "planned == 13000", failing(&[]), Some((0, "it can reach at most 12,000")));
}

#[test]
fn a_quantile_is_given_up_when_no_rest_can_leave_the_run_undecided() {
    // Of 12,000 in at least 16 windows, n/φ ≥ 15 lie at the bound, and 15·0.307/0.953 = 4.84 after φ is carried over
    // from the median: 21 % are certainly beyond p99, while 200 in the first second might be a burst.
    let why = "2,600 operations are beyond 20.0 ms, and p99 allows 120 of 12,000";
    check(LOAD, "p99 < 20ms", slow_from(30), Some((42, why)));
    // A service time belongs to the second in which the operation finishes.
    let fewer = "2,594 operations are beyond 20.0 ms, and p99 allows 120 of 12,000";
    check(LOAD, "home service p99 < 20ms", slow_from(30), Some((42, fewer)));
    let why = "4,000 operations are beyond 20.0 ms, and p95 allows 600 of 12,000";
    check(LOAD, "p95 < 20ms", slow_from(30), Some((49, why)));
    // More than half are too slow, but these might be half of a slow wave.
    check(LOAD, "p50 < 20ms", slow_from(25), None);
    let why = "9,000 operations are beyond 20.0 ms, and p50 allows 6,000 of 12,000";
    check(LOAD, "p50 < 20ms", slow_from(2), Some((46, why)));
    check(LOAD, "p99 < 1s", |index| Op::answered(if index < 130 { 2_000 * MS } else { MS }), None);
    let why = "0 operations are beyond 20.0 ms, and p50 needs more than 6,000 of 12,000";
    check(LOAD, "p50 > 20ms", |_| Op::answered(MS), Some((44, why)));
    // The bucket of the bound contains values on both sides of it.
    check(LOAD, "p50 > 20ms", |_| Op::answered(20 * MS - 1_000), None);
}

/// A number from 0 to 1, by seed and place.
fn chance(seed: u64, place: u64) -> f64 {
    let mut state = (seed << 32 ^ place).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((state ^ (state >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A minute in which stretches of 0.1 to 30 s are slow, together a share of up to 0.6.
fn stretched(seed: u64) -> Simulated {
    const CRITERIA: [&str; 3] = ["p99 < 20ms", "p95 < 20ms", "p50 < 20ms"];
    let share = 0.6 * chance(seed, 1).powi(2);
    let stretch = [20, 200, 1_000, 6_000][(chance(seed, 2) * 4.0) as usize];
    let load = format!("{LOAD}\nsteady_state = \"reported\"");
    simulate(&file(&load, &CRITERIA), 200, 12_000, |index| {
        let slow = chance(seed, 10 + index / stretch) < share;
        Op::answered(if slow {
            30 * MS
        } else {
            2 * MS + (chance(seed, 1 << 20 | index) * 1e6) as u64
        })
    })
}

#[test]
fn what_is_given_up_by_chance_would_have_failed_in_full() {
    // A few seeds in `make test`, where ten wrong ones in a hundred would certainly be noticed.
    let seeds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 1_000 } else { 60 };
    let (mut given_up, mut failed, mut wrong, mut naive_wrong) = (0, 0, 0, 0);
    for seed in 0..seeds {
        let made = stretched(seed);
        let summary = made.summary();
        let mut fail_fast = FailFast::new(&made.plan);
        fail_fast.begin(&made.plan.trials[..1], made.trial.window_ns);
        let lost = made.windows().iter().flat_map(|window| fail_fast.add(0, window));
        let lost: Vec<String> = lost.map(|lost| lost.criterion).collect();
        for (judged, criterion) in summary.criteria.iter().zip(&made.plan.criteria) {
            let Metric::Quantile(q) = criterion.metric else { panic!("a quantile") };
            let fails = judged.result == record::summary::Judgement::Fail;
            let beyond = made.trial.totals.total().response_time.count_above(20 * MS);
            // As if operations were independent, and no other one were slow.
            let naive = proportion::judge(beyond, 12_000, 1.0, 1.0 - q, 0.95) == LimitSide::Above;
            failed += u32::from(fails);
            given_up += u32::from(lost.contains(&judged.text));
            wrong += u32::from(lost.contains(&judged.text) && !fails);
            naive_wrong += u32::from(naive && !fails);
        }
    }
    println!(
        "of {} judgements {failed} fail, {given_up} of them are given up early; wrongly given up: {wrong}, taken for \
         independent {naive_wrong}",
        3 * seeds
    );
    assert_eq!(wrong, 0);
    assert!(given_up > 0 && naive_wrong > 0, "{given_up} {naive_wrong}");
}

#[test]
fn failures_are_beyond_every_bound() {
    let why = "2,700 operations are beyond 1.00 s, and p99 allows 120 of 12,000";
    let one = |index| Op {
        outcome: Some(if index < 2_700 {
            Outcome::Failed(FailureKind::Timeout)
        } else {
            Outcome::Succeeded
        }),
        ..Op::answered(MS)
    };
    // With fewer than 16 windows, the dispersion between them is unknown.
    check(LOAD, "p99 < 1s", one, Some((14, why)));
    check(LOAD, "max < 1s", failing(&[8]), Some((8, "an operation never succeeded")));
    check(LOAD, "max < 20ms", slow_from(12), Some((12, "it is already at least 30.0 ms")));
}

#[test]
fn ratios_are_bounded_by_what_is_planned() {
    // 0.1 % of 12,000 are 12.
    let all: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    check(
        LOAD,
        "failed / planned < 0.1%",
        failing(all),
        Some((11, "it is already at least 0.10 %")),
    );
    check(LOAD, "failed / planned < 0.1%", failing(&all[..11]), None);
    check(
        LOAD,
        "home succeeded / planned == 100%",
        failing(&[3]),
        Some((3, "it can reach at most > 99.9 %")),
    );
    check(LOAD, "hits / succeeded == 3", failing(&[3]), None);
}

#[test]
fn one_window_that_misses_is_enough() {
    let why = "the window from 20.0 s misses it";
    check(LOAD, "p95 < 20ms over 10s windows", slow_from(23), Some((29, why)));
    check(LOAD, "failed == 0 over 20s windows", failing(&[33]), Some((39, why)));
    check(LOAD, "p50 < 20ms over 10s windows", slow_from(57), None);
}

#[test]
fn nothing_is_given_up_that_nobody_can_know() {
    let closed = "connections = 2\nduration = \"60s\"";
    check(closed, "p99 < 20ms", slow_from(30), None);
    check(closed, "goodput > 1000/s", slow_from(30), None);
    check(closed, "failed == 0", failing(&[7]), Some((7, "it is already at least 1")));
    check(LOAD, "mean < 1us", slow_from(0), None);
    check(LOAD, "connect p99 < 1us", slow_from(0), None);
    let counted = "connections = 2\noperations = 12000";
    let why = "2,600 operations are beyond 20.0 ms, and p99 allows 120 of 12,000";
    let made = run(counted, "p99 < 20ms", slow_from(30));
    assert_eq!(
        given_up(&made).map(|(_, why)| why),
        Some(format!("`p99 < 20ms` can no longer be met: {why}"))
    );
}

#[test]
fn trials_of_an_arm_share_what_is_allowed() {
    let made = run(LOAD, "failed <= 2", failing(&[7, 9]));
    let mut plan = made.plan.clone();
    plan.trials.push(TrialPlan { index: 2, block: 2, ..plan.trials[0].clone() });
    let mut fail_fast = FailFast::new(&plan);
    let mut lost = Vec::new();
    for trial in &plan.trials {
        fail_fast.begin(std::slice::from_ref(trial), made.trial.window_ns);
        for window in made.windows() {
            let found = fail_fast.add(0, window);
            lost.extend(found.into_iter().map(|_| (trial.index, window.number)));
        }
    }
    assert_eq!(lost, [(2, 7)]);
}

#[test]
fn each_arm_of_a_duet_is_held_to_its_own_windows() {
    let made = run(LOAD, "failed <= 2", failing(&[7, 8, 9]));
    let mut plan = made.plan.clone();
    plan.arms.push(plan.arms[0].clone());
    plan.trials.push(TrialPlan { index: 2, order: 2, arm: 1, ..plan.trials[0].clone() });
    let mut fail_fast = FailFast::new(&plan);
    fail_fast.begin(&plan.trials, made.trial.window_ns);
    let lost = |fail_fast: &mut FailFast, arm| {
        made.windows().iter().map(|window| fail_fast.add(arm, window).len()).sum::<usize>()
    };
    assert_eq!(
        (lost(&mut fail_fast, 0), lost(&mut fail_fast, 1)),
        (1, 1),
        "three failures in each"
    );
    // Each arm has two failures, which are allowed; failures of the other arm do not count.
    let made = run(LOAD, "failed <= 2", failing(&[7, 9]));
    let mut fail_fast = FailFast::new(&plan);
    fail_fast.begin(&plan.trials, made.trial.window_ns);
    for arm in [0, 1] {
        assert!(made.windows().iter().all(|window| fail_fast.add(arm, window).is_empty()), "{arm}");
    }
}

#[test]
fn a_quantile_of_several_trials_is_given_up_when_too_many_of_all_are_slow() {
    let lost = |slow: &[bool]| {
        let made =
            slow.iter().map(|&slow| run(LOAD, "p99 < 20ms", slow_from(if slow { 0 } else { 60 })));
        let made: Vec<Simulated> = made.collect();
        let trial = |index| TrialPlan { index, block: index, ..made[0].plan.trials[0].clone() };
        let mut plan = made[0].plan.clone();
        plan.trials = vec![trial(1), trial(2), trial(3)];
        let mut fail_fast = FailFast::new(&plan);
        let mut lost = None;
        for (made, trial) in made.iter().zip(&plan.trials) {
            fail_fast.begin(std::slice::from_ref(trial), made.trial.window_ns);
            let found = made.windows().iter().find(|window| !fail_fast.add(0, window).is_empty());
            lost = lost.or(found.map(|window| (trial.index, window.number)));
        }
        lost
    };
    // The 36,000 operations reach 21 % within 37 s.
    assert_eq!(lost(&[true, true]), Some((1, 36)));
    assert_eq!(lost(&[false, true, true]), Some((2, 36)));
}

/// The trials in which a plan of these trials of one arm was given up, with two failures in each executed one.
fn given_up_with(criterion: &str, planned: &[u32], executed: &[(u32, u32)]) -> Vec<u32> {
    let made = run(LOAD, criterion, failing(&[7, 9]));
    let trial = |(index, block)| TrialPlan { index, block, ..made.plan.trials[0].clone() };
    let mut plan = made.plan.clone();
    plan.trials = (1..).zip(planned.iter().copied()).map(trial).collect();
    let mut fail_fast = FailFast::new(&plan);
    let mut lost = Vec::new();
    for trial in executed.iter().copied().map(trial) {
        fail_fast.begin(std::slice::from_ref(&trial), made.trial.window_ns);
        let found: usize = made.windows().iter().map(|window| fail_fast.add(0, window).len()).sum();
        lost.extend((found > 0).then_some(trial.index));
    }
    lost
}

#[test]
fn a_block_that_is_executed_again_counts_once() {
    let planned = [1, 2];
    assert_eq!(given_up_with("failed <= 2", &planned, &[(1, 1), (2, 2)]), [2]);
    assert_eq!(given_up_with("failed <= 2", &planned, &[(1, 1), (3, 1)]), [0; 0]);
    assert_eq!(given_up_with("failed <= 2", &planned, &[(1, 1), (3, 1), (2, 2)]), [2]);
    // Lost in a trial that ended early, and again in its repetition.
    assert_eq!(given_up_with("failed == 0", &planned, &[(1, 1), (3, 1)]), [1, 3]);
}

#[test]
fn a_block_that_compares_an_arm_with_itself_counts_for_nothing() {
    assert_eq!(given_up_with("failed == 0", &[1, 1], &[(1, 1), (2, 1)]), [0; 0]);
    assert_eq!(given_up_with("failed == 0", &[1, 1, 2], &[(1, 1), (2, 1), (3, 2)]), [3]);
    // 12,000 operations count, not 36,000.
    let most = "succeeded >= 12001";
    assert_eq!(given_up_with(most, &[1, 1, 2], &[(1, 1), (2, 1), (3, 2)]), [3]);
}
