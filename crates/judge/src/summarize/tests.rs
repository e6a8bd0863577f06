use record::summary::{Grade, Summary, TrialSummary, Validity};
use record::{FailureKind, Outcome};

use super::*;
use crate::simulated::{Op, Simulated, file, simulate};
use crate::verdict::exit;

mod ended;

const MS: u64 = 1_000_000;
const CONSTANT: &str = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";

/// 1,000/s for 10 s to a target with 1 ms that freezes for 1 s after 5 s.
fn stalled() -> Simulated {
    simulate(&file(CONSTANT, &[]), 1_000, 10_000, |index| {
        let waits = if (5_000..6_000).contains(&index) { (6_000 - index) * MS } else { 0 };
        Op::answered(waits + MS)
    })
}

/// A memoryless service time: exponential with this mean.
fn drawn(index: u64, mean_ns: f64) -> u64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let uniform = ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    1 + (-(1.0 - uniform).ln() * mean_ns) as u64
}

fn only(summary: &Summary) -> &TrialSummary {
    &summary.arms[0].trials[0]
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn at(trial: &TrialSummary, q: f64) -> &record::summary::Quantile {
    trial.total.response_time.quantiles.iter().find(|entry| entry.q == q).unwrap()
}

fn near(seen: Option<u64>, known: f64, tolerance: f64) {
    let seen = seen.unwrap() as f64;
    assert!((seen - known).abs() <= known * tolerance, "{seen} is not {known}");
}

#[test]
fn a_single_stall_is_seen_and_not_claimed() {
    let summary = stalled().summary();
    let trial = only(&summary);
    near(at(trial, 0.95).observed_ns, 500e6, 0.03);
    near(at(trial, 0.99).observed_ns, 900e6, 0.02);
    for q in [0.95, 0.99] {
        let entry = at(trial, q);
        assert_eq!((entry.grade, entry.low_ns, entry.high_ns), (Grade::Refused, None, None));
    }
    assert_eq!(trial.accounting.started, 10_000);
    // The last one ended 11 µs after the measure phase, so it is not part of the goodput.
    assert_eq!(trial.rates.goodput, 999.9);
    assert_eq!(trial.operations[0].items["hits"].sum, 20_000.0);
}

#[test]
fn our_own_summaries_survive_the_audit() {
    for summary in [stalled().summary(), steady(&[]).summary()] {
        assert!(!codes(&summary).contains(&findings::AUDIT_CONTRADICTION));
    }
}

#[test]
fn a_completion_that_was_not_recorded_contradicts_littles_law() {
    let failing = |index: u64| match index % 50 {
        7 => Outcome::Failed(FailureKind::Timeout),
        9 => Outcome::Abandoned,
        _ => Outcome::Succeeded,
    };
    let mut made = simulate(&file(CONSTANT, &[]), 1_000, 10_000, |index| Op {
        outcome: (index % 50 != 11).then(|| failing(index)),
        ..Op::answered(MS)
    });
    assert!(!codes(&made.summary()).contains(&findings::AUDIT_CONTRADICTION));
    // The record of one operation of 1.01 ms is lost.
    made.trial.area_ns += 1_010_000;
    let summary = made.summary();
    let finding = &summary.findings[0];
    assert_eq!(finding.code, findings::AUDIT_CONTRADICTION);
    assert!(finding.claim.contains("A9: operations were in flight for"), "{}", finding.claim);
}

/// 500/s for a minute, exponential with mean 2 ms.
fn steady(criteria: &[&str]) -> Simulated {
    let load = "rate = \"500/s\"\nduration = \"60s\"";
    simulate(&file(load, criteria), 500, 30_000, |index| Op::answered(drawn(index, 2e6)))
}

#[test]
fn independent_operations_support_their_quantiles() {
    let summary = steady(&[]).summary();
    let trial = only(&summary);
    // The p99 of an exponential is mean · ln 100; the generator adds 10 µs.
    let p99 = at(trial, 0.99);
    let truth = 2e6 * 100_f64.ln() + 1e4;
    assert_eq!(p99.grade, Grade::Supported);
    assert!((p99.low_ns.unwrap() as f64) < truth && truth < p99.high_ns.unwrap() as f64, "{p99:?}");
    assert!(trial.total.response_time.dispersion < 3.0);
    assert_eq!((trial.validity, &trial.reasons), (Validity::Valid, &Vec::new()));
}

#[test]
fn a_thin_tail_is_not_supported_beside_a_dispersed_body() {
    // 500/s for 40 s; the slowest hundredth is evenly spread, and the rest may be slower in every other second.
    let load = "rate = \"500/s\"\nduration = \"40s\"";
    let p999 = |swing: u64| {
        let time = |index: u64| {
            let slow = if index.is_multiple_of(100) { 50 * MS } else { index / 500 % 2 * swing };
            slow + drawn(index, 1e6)
        };
        let made = simulate(&file(load, &[]), 500, 20_000, |index| Op::answered(time(index)));
        at(only(&made.summary()), 0.999).grade
    };
    assert_eq!((p999(0), p999(10 * MS)), (Grade::Supported, Grade::Refused));
}

#[test]
fn a_steady_state_that_is_only_reported_needs_no_note() {
    let load = "rate = \"500/s\"\nduration = \"60s\"\nsteady_state = \"reported\"";
    let made = simulate(&file(load, &[]), 500, 30_000, |index| Op::answered(drawn(index, 2e6)));
    let summary = made.summary();
    assert_eq!((only(&summary).validity, &only(&summary).reasons), (Validity::Valid, &Vec::new()));
    assert_eq!(exit(&summary) as u8, 0);
}

#[test]
fn failures_are_slower_than_everything_in_outcome_time() {
    let made = simulate(&file(CONSTANT, &[]), 1_000, 10_000, |index| Op {
        outcome: Some(match index % 50 {
            7 => Outcome::Failed(FailureKind::Reset),
            _ => Outcome::Succeeded,
        }),
        ..Op::answered(MS)
    });
    let summary = made.summary();
    let total = &only(&summary).total;
    let outcome = |q: f64| {
        total.outcome_time.quantiles.iter().find(|entry| entry.q == q).unwrap().observed_ns
    };
    assert_eq!((total.failed, total.failures["reset"]), (200, 200));
    assert!(outcome(0.95).is_some() && outcome(0.99).is_none());
    assert!(codes(&summary).contains(&"failures"));
}

#[test]
fn a_late_generator_spoils_the_trial_and_not_the_target() {
    // Stopped for 400 ms of 8 s, as by SIGSTOP: operations due meanwhile are released at its end.
    let made = simulate(&file(CONSTANT, &["p99 < 20ms"]), 1_000, 8_000, |index| Op {
        lag: if (3_000..3_400).contains(&index) { (3_400 - index) * MS } else { 10_000 },
        ..Op::answered(MS)
    });
    let mut summary = made.summary();
    assert_eq!(only(&summary).validity, Validity::Invalid);
    assert_eq!(summary.criteria[0].result, Judgement::Invalid);
    assert_eq!((summary.verdict.result, exit(&summary) as u8), (Judgement::Invalid, 3));
    assert_eq!(codes(&summary)[0], "late-generator");
    summary.findings.retain(|finding| finding.code.starts_with("generator-"));
    assert_eq!(codes(&summary), Vec::<&str>::new(), "no resource was scarce");
}

/// Three blocks of one arm; the generator is late in these blocks, and then one operation may fail.
fn late_in(blocks: &[u32], spare: u32, fails: bool) -> Summary {
    let trial = |late: bool| {
        simulate(&file(CONSTANT, &["failed == 0"]), 1_000, 8_000, |index| Op {
            lag: if late && index % 20 == 0 { 50 * MS } else { 10_000 },
            outcome: Some(match index {
                7 if late && fails => Outcome::Failed(FailureKind::WrongContent),
                _ => Outcome::Succeeded,
            }),
            ..Op::answered(MS)
        })
    };
    let [late, in_time] = [true, false].map(trial);
    let first = in_time.plan.trials[0].clone();
    let trials = (1..=3).map(|block| TrialPlan { index: block, block, ..first.clone() });
    let plan = Plan { spare, trials: trials.collect(), ..in_time.plan.clone() };
    let mut summariser = Summariser::new(&plan);
    for block in 1..=3 {
        let made = if blocks.contains(&block) { &late } else { &in_time };
        let trial = record::TrialFacts { index: block, block, ..made.trial.clone() };
        let windows = |show: &mut dyn FnMut(&record::Window)| {
            made.windows().iter().for_each(show);
            Ok(())
        };
        let spans = ["connect".to_owned()];
        summariser.add(TrialInput { trial: &trial, spans: &spans, windows: &windows }).unwrap();
    }
    summariser.finish(crate::example::run())
}

#[test]
fn as_many_blocks_as_the_plan_spares_are_judged_without_a_late_trial() {
    let spared = late_in(&[2], 1, false);
    let counts = spared.arms[0].trials.iter().map(|trial| (trial.validity, trial.counts_for));
    assert_eq!(counts.clone().nth(1), Some((Validity::Invalid, CountsFor::Spared)));
    assert_eq!(counts.filter(|(_, counts)| *counts == CountsFor::Judgement).count(), 2);
    assert_eq!((spared.criteria[0].result, exit(&spared) as u8), (Judgement::Pass, 0));
    let told =
        "the generator was late in trial 2; its block is judged without it, as `spare` permits";
    assert!(spared.verdict.reasons.iter().any(|one| one == told), "{:?}", spared.verdict);
    assert!(codes(&spared).contains(&"late-generator"), "what happened stays told");
    assert!(!codes(&spared).contains(&"interrupted"), "it was carried out");
    for (late, spare) in [(&[2][..], 0), (&[1, 3], 1)] {
        let summary = late_in(late, spare, false);
        assert_eq!((summary.verdict.result, exit(&summary) as u8), (Judgement::Invalid, 3));
    }
    // A late generator does not excuse a wrong answer.
    assert_eq!(exit(&late_in(&[2], 1, true)) as u8, 3);
}

#[test]
fn a_resource_is_named_where_it_explains_an_effect() {
    let mut made = simulate(&file(CONSTANT, &[]), 1_000, 8_000, |index| Op {
        lag: if index % 20 == 0 { 50 * MS } else { 10_000 },
        ..Op::answered(MS)
    });
    made.trial.generator.steal_ratio = 0.2;
    made.trial.generator.throttled_ns = 300 * MS;
    let summary = made.summary();
    assert!(codes(&summary).contains(&"generator-steal"));
    assert!(codes(&summary).contains(&"generator-throttled"));
}

#[test]
fn readings_from_outside_of_a_short_phase_contradict_nothing() {
    let mut made = simulate(&file(CONSTANT, &[]), 1_000, 10, |_| Op::answered(MS));
    made.trial.generator.worker_run_queue_ns = vec![60_000 * MS];
    made.trial.generator.worker_cpu_ns = vec![60_000 * MS];
    let summary = made.summary();
    assert_eq!(only(&summary).generator.run_queue_ratio, 1.0);
    assert_eq!(only(&summary).generator.cpu_ratio, 1.0);
    assert!(!codes(&summary).contains(&"audit-contradiction"), "{:?}", summary.findings);
}

#[test]
fn missed_operations_are_overload_and_fail() {
    let made = simulate(&file(CONSTANT, &["p50 < 1s"]), 1_000, 10_000, |index| Op {
        outcome: (index < 9_000).then_some(Outcome::Succeeded),
        ..Op::answered(MS)
    });
    let summary = made.summary();
    let trial = only(&summary);
    assert_eq!((trial.validity, trial.accounting.missed), (Validity::Overload, 1_000));
    assert_eq!(summary.criteria[0].result, Judgement::Fail);
    assert_eq!((codes(&summary)[0], exit(&summary) as u8), ("overload", 1));
}

#[test]
fn an_interrupted_run_is_at_best_inconclusive() {
    let mut made = simulate(&file(CONSTANT, &["p50 < 1s"]), 1_000, 10_000, |index| Op {
        outcome: (index < 9_000).then_some(Outcome::Succeeded),
        ..Op::answered(MS)
    });
    made.trial.interrupted = true;
    let summary = made.summary();
    assert_eq!(only(&summary).validity, Validity::Noted);
    assert_eq!((summary.verdict.result, exit(&summary) as u8), (Judgement::Inconclusive, 3));
    assert!(!codes(&summary).contains(&"overload"));
}

#[test]
fn raw_samples_that_are_missing_are_told_of() {
    let mut made = stalled();
    made.trial.samples_dropped = 1_234;
    let reasons = only(&made.summary()).reasons.clone();
    assert!(
        reasons.iter().any(|reason| reason.contains("1,234 raw samples are missing")),
        "{reasons:?}"
    );
}

#[test]
fn a_trial_that_was_stored_and_read_back_makes_the_same_summary() {
    let made = stalled();
    let folder = record::folder::MemoryFolder::default();
    record::folder::write_facts(&folder, &made.trial).unwrap();
    let reader = record::folder::RunReader::new(&folder);
    let again = Simulated { trial: reader.facts(1).unwrap(), ..stalled() };
    assert_eq!(again.trial.totals, made.trial.totals);
    assert_eq!(again.summary(), made.summary());
    assert!(reader.facts(2).is_err());
}

#[test]
fn what_ends_in_the_drain_is_completed_in_no_measure_phase() {
    // 1,000/s for 10 s; operations due in the last second end a second later, and every second one fails.
    let made = simulate(&file(CONSTANT, &["home completed > 0/s"]), 1_000, 10_000, |index| {
        let service = if index >= 9_000 { 1_000 * MS } else { MS };
        let outcome = match index % 2 {
            0 => Outcome::Succeeded,
            _ => Outcome::Failed(FailureKind::Timeout),
        };
        Op { service, outcome: Some(outcome), ..Op::answered(MS) }
    });
    let summary = made.summary();
    let rates = only(&summary).rates;
    assert_eq!((rates.offered, rates.started), (1_000.0, 1_000.0));
    assert_eq!((rates.completed, rates.goodput), (900.0, 450.0));
    assert_eq!(summary.criteria[0].observed, Some(900.0));
}

#[test]
fn resources_are_ratios_of_the_time_that_was_watched() {
    // An interrupted phase is shorter than the time until the interrupt was noticed.
    let mut made = stalled();
    made.trial.generator.watched_ns = 20_000 * MS;
    made.trial.generator.worker_cpu_ns = vec![5_000 * MS];
    made.trial.generator.worker_run_queue_ns = vec![1_000 * MS];
    let summary = made.summary();
    let generator = &only(&summary).generator;
    assert_eq!((generator.cpu_ratio, generator.run_queue_ratio), (0.25, 0.05));
}

#[test]
fn delivery_times_are_read_from_what_the_observer_sent() {
    // Three times of 1 ms and one of 4 ms, as an observer sends them: up to an hour, 3 digits.
    const SENT: &str = "HISTFAAAACh4nJNpmSzMwMDAzgABzFCaEch0M9ixgMH+A0Tg4DpGtr/yTAB6DQbm";
    let mut made = stalled();
    let mut sink = crate::example::observer();
    sink.detail.insert("delivery_time".to_owned(), SENT.into());
    made.trial.observers = vec![sink];
    let summary = made.summary();
    let observer = &only(&summary).observers[0];
    let times = observer.delivery_time.as_ref().unwrap();
    assert_eq!(times.count, 4);
    near(times.quantiles[0].observed_ns, 1e6, 0.001);
    near(Some(times.max_ns), 4e6, 0.001);
    assert!(times.quantiles.iter().all(|entry| entry.grade != Grade::Supported));
    assert!(observer.detail.is_empty());
}
