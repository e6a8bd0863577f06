use record::Outcome;
use record::summary::{Finding, Judgement, Summary, Validity};

use crate::simulated::{Op, file, simulate};
use crate::verdict::exit;

const MS: u64 = 1_000_000;
const RATE: u64 = 500;
const REQUIRED: &str = "rate = \"500/s\"\narrivals = \"constant\"\nduration = \"60s\"";
const CODES: [&str; 5] =
    ["growing-backlog", "warm-up-too-short", "drift", "level-shift", "uneven-phase"];

/// A minute at 500/s against a target with this mean time by second; times vary by ± 40 % around it.
fn minute(load: &str, mean_ms: impl Fn(f64) -> f64) -> Summary {
    minute_with(load, |index, second| {
        let spread = 0.6 + 0.8 * (index * 7_919 % 1_009) as f64 / 1_009.0;
        Op::answered((mean_ms(second) * spread * MS as f64) as u64)
    })
}

fn minute_with(load: &str, one: impl Fn(u64, f64) -> Op) -> Summary {
    simulate(&file(load, &["p99 < 1s"]), RATE, 60 * RATE, |index| {
        one(index, index as f64 / RATE as f64)
    })
    .summary()
}

fn validity(summary: &Summary) -> (Validity, &[String]) {
    let trial = &summary.arms[0].trials[0];
    (trial.validity, &trial.reasons)
}

/// The findings of this table.
fn found(summary: &Summary) -> Vec<&Finding> {
    summary.findings.iter().filter(|one| CODES.contains(&one.code.as_str())).collect()
}

fn only<'a>(summary: &'a Summary, code: &str) -> &'a Finding {
    let found = found(summary);
    assert_eq!(found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), [code]);
    found[0]
}

#[test]
fn a_target_that_stays_as_it_is_raises_nothing() {
    let summary = minute(REQUIRED, |_| 4.0);
    assert_eq!(validity(&summary), (Validity::Valid, &[][..]));
    assert!(found(&summary).is_empty(), "{:?}", found(&summary));
    assert_eq!(exit(&summary) as u8, 0);
}

#[test]
fn a_leak_is_a_drift_and_no_steady_state() {
    let summary = minute(REQUIRED, |second| 4.0 + second / 60.0);
    let finding = only(&summary, "drift");
    assert!(finding.claim.starts_with("the median response time rose by 2"), "{}", finding.claim);
    assert!((finding.evidence["median_ratio"].as_f64().unwrap() - 1.25).abs() < 0.05);
    assert!(finding.evidence.contains_key("p95_ratio"));
    let (validity, reasons) = validity(&summary);
    assert_eq!(validity, Validity::NoSteadyState);
    assert_eq!(reasons[0], format!("no steady state: {}", finding.claim));
    assert_eq!(summary.criteria[0].result, Judgement::Inconclusive);
    assert_eq!((summary.verdict.result, exit(&summary) as u8), (Judgement::Inconclusive, 3));
}

#[test]
fn where_it_is_only_reported_a_drift_is_a_note() {
    let load = format!("{REQUIRED}\nsteady_state = \"reported\"");
    let summary = minute(&load, |second| 4.0 + second / 60.0);
    only(&summary, "drift");
    assert_eq!(validity(&summary).0, Validity::Noted);
    assert_eq!((summary.verdict.result, exit(&summary) as u8), (Judgement::Pass, 0));
}

#[test]
fn a_step_is_told_with_its_instant() {
    let summary = minute(REQUIRED, |second| if second < 36.0 { 4.0 } else { 6.0 });
    let finding = only(&summary, "level-shift");
    assert_eq!(
        finding.claim,
        "the median response time rose by 50.2 % at once, 36.0 s into the measure phase"
    );
    assert_eq!(finding.evidence["median_at_ns"], 36_000 * MS);
    assert_eq!(validity(&summary).0, Validity::NoSteadyState);
}

#[test]
fn a_slow_start_asks_for_a_longer_warm_up() {
    let summary = minute(REQUIRED, |second| if second < 10.0 { 12.0 } else { 4.0 });
    let finding = only(&summary, "warm-up-too-short");
    assert_eq!(
        finding.claim,
        "the first 10.0 s were slower than the rest, with a median response time 2.99 times as long"
    );
    assert_eq!(finding.advice, "warm up for at least 10.0 s");
    assert_eq!(finding.evidence["transient_ns"], 10_000 * MS);
}

#[test]
fn a_rate_above_capacity_is_told_once_as_a_backlog() {
    // 550/s arrive at a target that serves 500/s: an operation that arrives after t seconds waits t/10.
    let summary = minute(REQUIRED, |second| 4.0 + second * 100.0);
    let finding = only(&summary, "growing-backlog");
    assert!(
        finding.claim.contains("more was offered than the target finished"),
        "{}",
        finding.claim
    );
    assert!(finding.evidence["in_flight_end"].as_f64().unwrap() > 2_000.0);
    assert_eq!(validity(&summary).0, Validity::NoSteadyState);
}

#[test]
fn failures_that_come_together_are_uneven() {
    let failing = |until: u64| {
        minute_with(REQUIRED, |index, _| Op {
            outcome: Some(match index % 50 {
                7 if index >= until => Outcome::Failed(record::FailureKind::Reset),
                _ => Outcome::Succeeded,
            }),
            ..Op::answered(4 * MS + index * 7_919 % 1_009 * 1_000)
        })
    };
    let finding = failing(54 * RATE);
    let finding = only(&finding, "uneven-phase");
    assert_eq!(
        finding.claim,
        "parts of the measure phase differ: from 54.0 s to 60.0 s 2.00 % of operations were lost, \
         0.20 % over the whole"
    );
    assert!(found(&failing(0)).is_empty(), "evenly spread");
}

#[test]
fn a_crowded_machine_is_named_beside_a_departure() {
    let crowded = |run_queue: f64| {
        let load = file(REQUIRED, &["p99 < 1s"]);
        let mut made = simulate(&load, RATE, 60 * RATE, |index| {
            let mean = if index < 36 * RATE { 4_000 } else { 6_000 };
            Op::answered(mean * (600 + 800 * (index * 7_919 % 1_009) / 1_009))
        });
        made.trial.generator.worker_run_queue_ns = vec![(60e9 * run_queue) as u64];
        made.summary()
    };
    let beside = "check first what else ran on this machine, since a worker waited for its processor during 2.00 % of the \
                  time; then look at what happened";
    let busy = crowded(0.02);
    assert!(only(&busy, "level-shift").advice.starts_with(beside), "{:?}", found(&busy));
    assert!(only(&crowded(0.005), "level-shift").advice.starts_with("look at what happened"));
}

#[test]
fn a_plan_that_changes_its_rate_is_not_tested() {
    let load = "stages = [{ to = \"500/s\", over = \"30s\" }, { hold = \"30s\" }]";
    let mut made = simulate(&file(load, &[]), RATE, 60 * RATE, |_| Op::answered(MS));
    made.trial.load.arrivals = Some("stages".to_owned());
    let summary = made.summary();
    let (validity, reasons) = validity(&summary);
    assert_eq!(validity, Validity::Noted);
    assert_eq!(
        reasons,
        ["whether there was a steady state was not tested: the planned rate changes (stages)"]
    );
}

#[test]
fn too_short_is_a_note() {
    let load = "rate = \"500/s\"\nduration = \"5s\"";
    let summary = simulate(&file(load, &[]), RATE, 5 * RATE, |_| Op::answered(MS)).summary();
    let (validity, reasons) = validity(&summary);
    assert_eq!(validity, Validity::Noted);
    assert_eq!(
        reasons,
        ["too short to test for a steady state: 5.00 s in 50 windows, 6.00 s in 30 are needed"]
    );
}

#[test]
fn half_a_minute_in_windows_of_a_second_is_tested() {
    let half_a_minute = |mean: fn(u64) -> u64| {
        let load = "rate = \"500/s\"\narrivals = \"constant\"\nduration = \"30s\"";
        let one = |index| Op::answered(mean(index) * (600 + 800 * (index * 7_919 % 1_009) / 1_009));
        simulate(&file(load, &["p99 < 1s"]), RATE, 30 * RATE, one).summary()
    };
    let steady = half_a_minute(|_| 4_000);
    assert_eq!(validity(&steady), (Validity::Valid, &[][..]));
    assert_eq!(exit(&steady) as u8, 0);
    let drifting = half_a_minute(|index| 4_000 + index / 10);
    let finding = only(&drifting, "drift");
    assert!(finding.claim.starts_with("the median response time rose by 3"), "{}", finding.claim);
    let shifted = half_a_minute(|index| if index < 18 * RATE { 4_000 } else { 6_000 });
    let finding = only(&shifted, "level-shift");
    assert!(finding.claim.ends_with("18.0 s into the measure phase"), "{}", finding.claim);
    assert_eq!(validity(&shifted).0, Validity::NoSteadyState);
}

#[test]
fn a_late_generator_is_not_laid_at_the_targets_door() {
    let summary = minute_with(REQUIRED, |_, second| {
        let late = if second < 30.0 { 10_000 } else { 20 * MS };
        Op { lag: late, ..Op::answered(4 * MS) }
    });
    let (validity, reasons) = validity(&summary);
    assert_eq!(validity, Validity::Invalid);
    assert!(reasons.last().unwrap().ends_with("not tested: the generator was late"), "{reasons:?}");
    assert!(found(&summary).is_empty());
}
