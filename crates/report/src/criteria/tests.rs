use record::summary::Judgement::{Fail, Inconclusive, Pass};
use record::{FailureKind, Outcome};

use crate::simulated::{One, Simulated, file, simulate};

use super::*;

const MS: u64 = 1_000_000;

/// 200/s for `seconds` with 1 ms each, except that one in `slow` takes 30 ms.
fn run(criteria: &[&str], seconds: u64, slow: u64) -> Simulated {
    let load = format!("rate = \"200/s\"\narrivals = \"constant\"\nduration = \"{seconds}s\"");
    simulate(&file(&load, criteria), 200, 200 * seconds, |index| {
        One::answered(if index % slow == slow / 2 { 30 * MS } else { MS })
    })
}

fn judge(criterion: &str, seconds: u64, slow: u64) -> summary::Criterion {
    run(&[criterion], seconds, slow).summary().criteria.remove(0)
}

#[test]
fn quantiles_are_judged_by_exceedances() {
    // 12,000 operations, of which 0.2 %, 1 % and 5 % are above the bound.
    assert_eq!(judge("p99 < 20ms", 60, 500).result, Pass);
    assert_eq!(judge("p99 < 20ms", 60, 100).result, Inconclusive);
    assert_eq!(judge("p99 < 20ms", 60, 20).result, Fail);
    assert_eq!(judge("home p99 > 20ms", 60, 20).result, Pass);
}

#[test]
fn three_hundred_operations_without_a_slow_one_pass_a_p99() {
    assert_eq!(judge("p99 < 20ms", 2, 10_000).result, Pass);
    assert_eq!(judge("p99 < 20ms", 1, 10_000).result, Inconclusive);
}

#[test]
fn an_undecided_criterion_says_what_would_decide() {
    let summary = run(&["p99 < 20ms"], 1, 10_000).summary();
    let finding = summary.findings.iter().find(|one| one.code == "undecided-criterion").unwrap();
    assert_eq!(finding.advice, "a run about 2.00 times as long would decide");
}

#[test]
fn failures_count_as_beyond_every_bound() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let made = simulate(&file(load, &["p95 < 20ms", "failed == 0"]), 200, 12_000, |index| One {
        outcome: Some(match index % 10 {
            5 => Outcome::Failed(FailureKind::Timeout),
            _ => Outcome::Succeeded,
        }),
        ..One::answered(MS)
    });
    let criteria = made.summary().criteria;
    assert_eq!((criteria[0].result, criteria[0].observed), (Fail, None));
    assert_eq!((criteria[1].result, criteria[1].observed), (Fail, Some(1_200.0)));
}

#[test]
fn counts_are_judged_on_the_sample_with_the_bound_beside() {
    let none = judge("failed == 0", 2, 500);
    assert_eq!((none.result, none.observed), (Pass, Some(0.0)));
    assert_eq!((none.low, none.high), (Some(0.0), Some(3.0)));
    let ratio = judge("failed / planned < 1%", 60, 500);
    assert_eq!((ratio.result, ratio.high), (Pass, Some(3.0 / 12_000.0)));
    assert_eq!(judge("planned == 400", 2, 500).result, Pass);
}

#[test]
fn rates_means_and_items_are_judged() {
    assert_eq!(judge("goodput >= 199/s", 60, 500).result, Pass);
    assert_eq!(judge("goodput >= 210/s", 60, 500).result, Fail);
    assert_eq!(judge("mean < 2ms", 60, 500).result, Pass);
    assert_eq!(judge("mean < 1ms", 60, 500).result, Fail);
    assert_eq!(judge("max < 20ms", 60, 500).result, Fail);
    assert_eq!(judge("home hits / succeeded == 200%", 2, 500).result, Pass);
}

#[test]
fn a_rate_that_was_not_reached_is_no_pass() {
    let mut made = run(&["p50 < 1s"], 10, 500);
    let lost = &mut made.trial.totals.operations[0];
    lost.planned += 100;
    lost.missed += 100;
    made.trial.interrupted = true;
    assert_eq!(made.summary().criteria[0].result, Inconclusive);
}

#[test]
fn a_rehearsal_never_passes_and_may_fail() {
    let mut made = run(&["p99 < 20ms", "p99 < 1us"], 60, 500);
    made.plan.rehearsal = true;
    let results: Vec<_> = made.summary().criteria.iter().map(|one| one.result).collect();
    assert_eq!(results, [Inconclusive, Fail]);
}
