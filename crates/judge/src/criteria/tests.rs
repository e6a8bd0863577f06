use record::summary::Judgement::{Fail, Inconclusive, Pass};
use record::{FailureKind, Outcome};

use crate::simulated::{Op, Simulated, file, simulate, summary_of};

use super::*;

mod drift;
mod findings;
mod journeys;
mod kinds;
mod trial_states;

const MS: u64 = 1_000_000;

/// 200/s for `seconds` with 1 ms each, but 30 ms for one in `slow`.
fn run(criteria: &[&str], seconds: u64, slow: u64) -> Simulated {
    let load = format!("rate = \"200/s\"\narrivals = \"constant\"\nduration = \"{seconds}s\"");
    simulate(&file(&load, criteria), 200, 200 * seconds, |index| {
        Op::answered(if index % slow == slow / 2 { 30 * MS } else { MS })
    })
}

fn finding<'s>(summary: &'s summary::Summary, code: &str) -> Option<&'s Finding> {
    summary.findings.iter().find(|finding| finding.code == code)
}

/// 200/s for 60 s; every tenth operation fails after 1 ms.
fn failing(criteria: &[&str]) -> Simulated {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    simulate(&file(load, criteria), 200, 12_000, |index| Op {
        outcome: Some(match index % 10 {
            5 => Outcome::Failed(FailureKind::Timeout),
            _ => Outcome::Succeeded,
        }),
        ..Op::answered(MS)
    })
}

fn judge(criterion: &str, seconds: u64, slow: u64) -> summary::Criterion {
    run(&[criterion], seconds, slow).summary().criteria.remove(0)
}

#[test]
fn quantiles_are_judged_by_exceedances() {
    // 12,000 operations; 0.2 %, 1 % and 5 % are above the bound.
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
    let advice = "a run 1.50 times as long would decide: 1.50 s of measuring instead of 1.00 s";
    assert_eq!(finding.advice, advice);
    // It does: 300 operations with no slow one decide, and 2 % fewer do not.
    let decided = |count| {
        let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"2s\"";
        let made = simulate(&file(load, &["p99 < 20ms"]), 200, count, |_| Op::answered(MS));
        made.summary().criteria[0].result
    };
    assert_eq!((decided(300), decided(294)), (Pass, Inconclusive));
}

#[test]
fn what_no_run_could_decide_says_so() {
    // Every hundredth is beyond the bound, as the quantile allows.
    let summary = run(&["p99 < 20ms"], 60, 100).summary();
    let finding = finding(&summary, "undecided-criterion").unwrap();
    assert!(finding.advice.starts_with("no run of practical length would decide"), "{finding:?}");
}

#[test]
fn failures_count_as_beyond_every_bound() {
    let made = failing(&["p95 < 20ms", "failed == 0"]);
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

/// The judgement of a criterion that the sample meets, after a trial with this state.
fn judged_after(change: impl FnOnce(&mut TrialState)) -> JudgedCriterion {
    judged_of("p50 < 1s", change)
}

fn judged_of(criterion: &str, change: impl FnOnce(&mut TrialState)) -> JudgedCriterion {
    let made = run(&[criterion], 10, 500);
    let mut evidence = evaluations(&made.plan).remove(0);
    let total = made.trial.totals.total();
    evidence.begin_trial(&made.trial, &total, &[]);
    made.windows().iter().for_each(|window| evidence.add_window(window));
    evidence.end_trial(&made.trial, &total, &[]);
    let mut course = TrialState {
        trial: 1,
        validity: Validity::Valid,
        interrupted: false,
        given_up: Vec::new(),
        cut_short: false,
        reached: true,
        crowded: false,
        held_up: false,
        apart: false,
        alone: Inconclusive,
    };
    change(&mut course);
    evidence.close_trial(course);
    evidence.judge(false)
}

#[test]
fn windows_that_may_be_apart_decide_nothing() {
    let judged = |criterion| judged_of(criterion, |state| state.apart = true);
    for (criterion, otherwise) in
        [("p50 < 1s over 2s windows", Pass), ("p50 < 1us over 2s windows", Fail)]
    {
        assert_eq!(judged_of(criterion, |_| {}).criterion.result, otherwise, "{criterion}");
        let apart = judged(criterion);
        assert_eq!(apart.criterion.result, Inconclusive, "{criterion}");
        let advice = &apart.findings[0].advice;
        assert!(advice.contains("more than 50 ms apart"), "{advice}");
    }
    assert_eq!(judged("p50 < 1s").criterion.result, Pass, "the whole run needs no common clock");
}

#[test]
fn any_percentile_is_judged() {
    let judged = judge("p97.5 < 20ms", 60, 500);
    assert_eq!(judged.result, Pass);
    assert_eq!(judged.observed.map(|seen| (seen / 1e6).round()), Some(1.0));
    // 0.2 % of the operations take 30 ms.
    assert_eq!(judge("p99.9 < 20ms", 60, 500).result, Fail);
    assert_eq!(judge("p99.7 < 20ms", 60, 500).result, Pass);
}

#[test]
fn a_mean_cannot_pass_where_operations_have_no_time() {
    let results = |criteria: &[&str]| -> Vec<Judgement> {
        failing(criteria).summary().criteria.iter().map(|one| one.result).collect()
    };
    // The nine in ten that succeeded take 1 ms. The others could only increase the mean.
    let asked = ["mean < 2ms", "mean < 500us", "mean > 500us", "service mean < 2ms"];
    assert_eq!(results(&asked), [Inconclusive, Fail, Inconclusive, Inconclusive]);
    let summary = failing(&["mean < 2ms"]).summary();
    assert_eq!(summary.criteria[0].observed.map(|seen| (seen / 1e4).round()), Some(101.0));
    let advice = &finding(&summary, "undecided-criterion").unwrap().advice;
    assert!(advice.starts_with("1,200 operations have no such time"), "{advice}");
}

#[test]
fn a_mean_that_is_undecided_names_the_length_that_would_decide() {
    // Half of the operations take 1 ms and half 3 ms: stdev 1 ms, mean 2.01 ms with the lag.
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let made = simulate(&file(load, &["mean < 2ms"]), 200, 2_000, |index| {
        Op::answered(if index % 2 == 0 { MS } else { 3 * MS })
    });
    let summary = made.summary();
    assert_eq!(summary.criteria[0].result, Inconclusive);
    // (1.96 · 1 ms/√2000 / 10 µs)² = 19.2.
    let advice = &finding(&summary, "undecided-criterion").unwrap().advice;
    assert!(advice.starts_with("a run 19.3 times as long would decide: 193 s"), "{advice}");
}

#[test]
fn the_greatest_time_of_operations_that_never_succeeded_is_endless() {
    let results = |criteria: &[&str]| -> Vec<Judgement> {
        failing(criteria).summary().criteria.iter().map(|one| one.result).collect()
    };
    assert_eq!(results(&["max < 1h", "service max < 1h", "max > 1us"]), [Fail, Fail, Inconclusive]);
}

#[test]
fn spans_and_service_time_have_quantiles_of_their_own() {
    // The lag of 10 µs is not part of the service time.
    assert_eq!(judge("p99 < 1005us", 60, 10_000).result, Fail);
    assert_eq!(judge("service p99 < 1005us", 60, 10_000).result, Pass);
    assert_eq!(judge("home service p99 > 1005us", 60, 10_000).result, Fail);
    assert_eq!(judge("queue_wait p99 < 1us", 60, 10_000).result, Pass);
    assert_eq!(judge("service mean < 1005us", 60, 100_000).result, Pass);
    assert_eq!(judge("service max < 20ms", 60, 500).result, Fail);
}

#[test]
fn a_span_is_judged_on_the_operations_that_carried_it() {
    let connected = |times: &[u64], some_fail: bool, criterion: &str| {
        let made = if some_fail { failing(&[criterion]) } else { run(&[criterion], 60, 500) };
        let mut made = made;
        let span = &mut made.trial.totals.operations[0].spans[0];
        times.iter().for_each(|&time| span.record(time));
        made.summary().criteria.remove(0)
    };
    let fast = [MS; 400];
    assert_eq!(connected(&fast, false, "connect p99 < 2ms").result, Pass);
    assert_eq!(connected(&fast, false, "connect p99 < 500us").result, Fail);
    assert_eq!(connected(&fast[..100], false, "connect p99 < 2ms").result, Inconclusive);
    assert_eq!(connected(&fast, false, "connect max < 2ms").result, Pass);
    // No connection was opened in the measure phase: no data is never a pass.
    let none = connected(&[], false, "connect p99 < 2ms");
    assert_eq!((none.result, none.observed), (Inconclusive, None));
    // 1,200 operations failed, and their connect times are unknown.
    assert_eq!(connected(&fast, true, "connect p50 < 2ms").result, Inconclusive);
    assert_eq!(connected(&fast, true, "connect p50 < 500us").result, Inconclusive);
    assert_eq!(connected(&[MS; 12_000], true, "connect p50 < 500us").result, Fail);
    assert_eq!(connected(&[MS; 12_000], true, "connect p50 < 2ms").result, Pass);
    assert_eq!(connected(&fast, true, "connect max < 2ms").result, Inconclusive);
}

#[test]
fn ratios_may_be_of_two_operations() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let criteria = [
        "other hits / home succeeded == 150%",
        "home hits / other hits == 2",
        "home failed / other planned < 1%",
        "other succeeded / planned == 100%",
        "other succeeded / all planned == 50%",
        "hits / succeeded == 1.75",
        "other hits / failed < 1%",
    ];
    let two = "[[operation]]\nname = \"other\"\nhttp = { path = \"/\" }\nitems = { more = \"$.m\", hits = \"$.n\" }\n";
    let text = file(load, &criteria).replace("[[operation]]", &format!("{two}[[operation]]"));
    let mut made = simulate(&text, 200, 2_000, |_| Op::answered(MS));
    // The plan has `other` first; both were done equally often.
    let home = made.trial.totals.operations[0].clone();
    let mut other = home.clone();
    other.name = "other".to_owned();
    other.items = vec![record::ItemTotals::default(), home.items[0].clone()];
    other.items[1].sum = 3_000.0;
    made.trial.totals.operations.insert(0, other);
    let judged = made.summary().criteria;
    let seen: Vec<_> = judged.iter().map(|one| (one.result, one.observed)).collect();
    assert_eq!(
        seen,
        [
            (Pass, Some(1.5)),
            (Fail, Some(4.0 / 3.0)),
            (Pass, Some(0.0)),
            (Pass, Some(1.0)),
            (Pass, Some(0.5)),
            (Pass, Some(1.75)),
            // Nothing failed, so the denominator is 0.
            (Inconclusive, None),
        ]
    );
    assert_eq!((judged[0].operation.as_str(), judged[3].operation.as_str()), ("all", "other"));
}

#[test]
fn nothing_measured_is_no_pass() {
    let criteria = ["p99 < 1h", "mean < 1h", "max < 1h", "failed == 0", "failed / planned < 1%"];
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let mut made = simulate(&file(load, &criteria), 200, 2_000, |_| Op::answered(MS));
    made.trial.totals = record::Totals::new(&record::Layout {
        operations: vec!["home".into()],
        items: vec![vec!["hits".into()]],
        spans: vec!["connect".into()],
        journeys: Vec::new(),
    });
    let judged = made.summary().criteria;
    assert!(judged.iter().all(|one| one.result == Inconclusive), "{judged:?}");
}

#[test]
fn a_trial_that_the_generator_spoiled_is_no_pass() {
    let mut made = run(&["p99 < 20ms", "failed == 0"], 60, 500);
    made.trial.died = Some("the system ended: exit status 1".to_owned());
    let judged = made.summary().criteria;
    assert!(judged.iter().all(|one| one.result == Judgement::Invalid), "{judged:?}");
}

#[test]
fn an_overload_fails_whatever_the_others_were_like() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let made = simulate(&file(load, &["p50 < 1h"]), 200, 12_000, |index| Op {
        outcome: (index % 50 != 7).then_some(Outcome::Succeeded),
        ..Op::answered(MS)
    });
    assert_eq!(made.summary().criteria[0].result, Fail);
}

#[test]
fn trials_of_an_arm_are_judged_together_and_one_that_fails_alone_is_named() {
    let (clean, slow) = (run(&["p99 < 20ms"], 60, 500), run(&["p99 < 20ms"], 60, 50));
    assert_eq!(slow.summary().criteria[0].result, Fail);
    let summary = summary_of(&[&clean, &clean, &slow, &clean, &clean, &clean, &clean, &clean]);
    assert_eq!(summary.criteria[0].result, Pass);
    let claim = "trial 3 misses `p99 < 20ms` by itself; all trials of the arm together meet it";
    assert_eq!(finding(&summary, "failed-alone").unwrap().claim, claim);
    let all = summary_of(&[&slow, &slow]);
    assert_eq!((all.criteria[0].result, finding(&all, "failed-alone")), (Fail, None));
    assert_eq!(finding(&summary_of(&[&clean, &clean]), "failed-alone"), None);
}

/// 200/s for 240 s, 1 ms in one second and 5 ms in the next: nothing is slower.
fn swinging(criteria: &[&str]) -> Simulated {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"240s\"";
    simulate(&file(load, criteria), 200, 48_000, |index| {
        Op::answered(if index / 200 % 2 == 0 { MS } else { 5 * MS })
    })
}

#[test]
fn few_events_beyond_a_bound_borrow_the_dispersion_of_the_body() {
    // 200 operations are worth one independent one at the median, and 620 at p99: 48,000 are worth 77 of the 299
    // needed.
    let (near, far) = ("p99 < 6ms", "p99 < 50ms");
    let results = |summary: summary::Summary| -> Vec<Judgement> {
        summary.criteria.iter().map(|one| one.result).collect()
    };
    let one = swinging(&[near, far, "queue_wait p99 < 1ms"]);
    assert_eq!(results(one.summary()), [Inconclusive, Pass, Pass]);
    // Five times as long, in trials whose windows follow one another.
    assert_eq!(results(summary_of(&[&one; 5])), [Pass, Pass, Pass]);
}

/// 200/s for 60 s; in the seconds from 20 to 22 each operation takes 30 ms, and in second 45 each takes 60 ms.
fn bumpy(criteria: &[&str]) -> Simulated {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    simulate(&file(load, criteria), 200, 12_000, |index| {
        Op::answered(match index / 200 {
            20 | 21 => 30 * MS,
            45 => 60 * MS,
            _ => MS,
        })
    })
}

#[test]
fn each_window_must_meet_what_is_asked_of_windows() {
    let summary = bumpy(&["p95 < 20ms over 10s windows", "p95 < 20ms"]).summary();
    // 5 % of 60 s are 3 s: the run as a whole cannot decide.
    assert_eq!((summary.criteria[0].result, summary.criteria[1].result), (Fail, Inconclusive));
    let seen = summary.criteria[0].observed.unwrap() / 1e6;
    assert!((30.0..30.3).contains(&seen), "{seen}");
    assert_eq!((summary.criteria[0].low, summary.criteria[0].high), (None, None));
    let found = finding(&summary, "missed-windows").unwrap();
    assert_eq!(
        found.claim,
        "`p95 < 20ms over 10s windows` is not met in 2 of 6 windows: the first from 20.0 s (30.0 ms \
         observed), which is the worst"
    );
    assert_eq!((&found.evidence["missed"], &found.evidence["windows"]), (&2.into(), &6.into()));
}

#[test]
fn the_first_and_the_worst_window_are_named() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let made = simulate(&file(load, &["failed == 0 over 10s windows"]), 200, 12_000, |index| Op {
        outcome: Some(match index / 200 {
            15 | 38 | 39 => Outcome::Failed(FailureKind::Status),
            _ => Outcome::Succeeded,
        }),
        ..Op::answered(MS)
    });
    let (one, two) = (made.summary(), summary_of(&[&bumpy(&["p95 < 1h over 10s windows"]), &made]));
    assert_eq!(
        finding(&one, "missed-windows").unwrap().claim,
        "`failed == 0 over 10s windows` is not met in 2 of 6 windows: the first from 10.0 s (200 observed), \
         the worst from 30.0 s (400 observed)"
    );
    // The plan of the run is the first trial's; the second trial has failures, which are slower than an hour.
    assert_eq!(
        finding(&two, "missed-windows").unwrap().claim,
        "`p95 < 1h over 10s windows` is not met in 2 of 12 windows: the first from 10.0 s of trial 2, the \
         worst from 30.0 s of trial 2"
    );
}

#[test]
fn windows_are_judged_on_what_was_observed_in_them() {
    let judged = |criterion: &str| bumpy(&[criterion]).summary().criteria.remove(0);
    let cases = [
        ("p50 < 20ms over 10s windows", Pass, Some(1)),
        ("p50 < 20ms over 2s windows", Fail, Some(30)),
        ("p50 < 20ms over 1s windows", Fail, Some(30)),
        ("p99 < 65ms over 1s windows", Pass, None),
        ("max < 20ms over 30s windows", Fail, Some(60)),
        ("service p95 < 20ms over 30s windows", Fail, Some(30)),
        // A minute has only one whole window of 40 s.
        ("max < 40ms over 40s windows", Pass, Some(30)),
    ];
    for (criterion, result, ms) in cases {
        let seen = judged(criterion);
        assert_eq!(seen.result, result, "{criterion}");
        if let Some(ms) = ms {
            assert_eq!(
                seen.observed.map(|seen| (seen / 1e6).floor() as u64),
                Some(ms),
                "{criterion}"
            );
        }
    }
    assert_eq!(judged("offered >= 200/s over 1s windows").observed, Some(200.0));
    assert_eq!(judged("succeeded >= 2000 over 10s windows").result, Pass);
    assert_eq!(judged("failed / planned < 1% over 10s windows").result, Pass);
    // Operations that began in the second of 60 ms ended up to 60 ms later.
    assert_eq!(judged("goodput >= 189/s over 1s windows").result, Fail);
    assert_eq!(judged("goodput >= 188/s over 1s windows").result, Pass);
}

#[test]
fn failures_in_windows_count_as_beyond_every_bound() {
    let judged = failing(&["p95 < 1h over 10s windows", "failed == 0 over 5s windows"]).summary();
    assert_eq!((judged.criteria[0].result, judged.criteria[0].observed), (Fail, None));
    assert_eq!((judged.criteria[1].result, judged.criteria[1].observed), (Fail, Some(100.0)));
}

#[test]
fn a_window_without_anything_to_judge_is_no_pass() {
    let mut made = bumpy(&["p95 < 1h over 10s windows", "failed == 0 over 10s windows"]);
    // The phase lasted longer than the load.
    made.trial.phases.measure_ns = 75_000_000_000;
    let judged = made.summary().criteria;
    assert_eq!((judged[0].result, judged[1].result), (Inconclusive, Pass));
    made.trial.phases.measure_ns = 9_000_000_000;
    assert_eq!(made.summary().criteria[1].result, Inconclusive, "no window was whole");
}

#[test]
fn a_run_that_gave_up_fails_what_it_gave_up_on() {
    let mut made = run(&["p99 < 20ms", "failed == 0", "p50 < 20ms"], 60, 500);
    made.trial.early_end = Some(record::EarlyEnd {
        reason: record::EndReason::FailFast,
        why: "`p99 < 20ms` can no longer be met: so it was said".to_owned(),
        advice: None,
        criteria: vec!["p99 < 20ms".to_owned()],
    });
    let summary = made.summary();
    let results: Vec<_> = summary.criteria.iter().map(|one| one.result).collect();
    // The others would pass alone, but the plan was not carried out.
    assert_eq!(results, [Fail, Inconclusive, Inconclusive]);
    assert_eq!((summary.verdict.result, crate::verdict::exit(&summary) as u8), (Fail, 1));
    let claim =
        "the run was given up after 60.0 s: `p99 < 20ms` can no longer be met: so it was said";
    assert_eq!(finding(&summary, "fail-fast").unwrap().claim, claim);
    assert_eq!((finding(&summary, "interrupted"), finding(&summary, "short-run")), (None, None));
}

#[test]
fn an_adaptive_trial_is_judged_and_shown_at_the_level_of_its_looks() {
    let width = |confidence: f64| {
        let mut made = run(&["p50 < 20ms", "mean < 20ms"], 60, 10);
        made.trial.confidence = confidence;
        let summary = made.summary();
        let criterion = &summary.criteria[1];
        assert_eq!(criterion.result, Pass);
        criterion.high.unwrap() - criterion.low.unwrap()
    };
    // Normal quantiles of 0.975 and of 1 − 0.05/12.
    let ratio = width(plan::adaptive::CONFIDENCE) / width(0.95);
    assert!((ratio - 2.638_257 / 1.959_964).abs() < 1e-4, "{ratio}");
    // 299 operations with no slow one pass at 95 %, and 476 are needed at 99.17 %: ln(0.05/6)/ln(0.99).
    let passes = |count, confidence| {
        let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"9s\"";
        let mut made = simulate(&file(load, &["p99 < 20ms"]), 200, count, |_| Op::answered(MS));
        made.trial.confidence = confidence;
        made.summary().criteria[0].result == Pass
    };
    assert!(passes(300, 0.95) && !passes(476, plan::adaptive::CONFIDENCE));
    assert!(passes(477, plan::adaptive::CONFIDENCE));
}
