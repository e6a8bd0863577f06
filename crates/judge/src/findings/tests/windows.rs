//! Findings from windows, shapes and items: each kind with its evidence and without.

use record::summary::{Expectation, Observer};
use record::{FailureKind, Outcome};

use super::*;
use crate::example;

const CONSTANT: &str = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";

fn claim<'s>(summary: &'s Summary, code: &str) -> &'s str {
    let finding = summary.findings.iter().find(|finding| finding.code == code);
    &finding.unwrap_or_else(|| panic!("no {code}: {:?}", summary.findings)).claim
}

fn answered(service: impl Fn(u64) -> u64) -> Summary {
    simulate(&file(CONSTANT, &[]), 1_000, 10_000, |index| Op::answered(service(index))).summary()
}

/// Fails the operations that `kind` selects.
fn failing(kind: impl Fn(u64) -> bool) -> Summary {
    let one = |index| Op {
        outcome: Some(if kind(index) {
            Outcome::Failed(FailureKind::Status)
        } else {
            Outcome::Succeeded
        }),
        ..Op::answered(2 * MS)
    };
    simulate(&file(CONSTANT, &[]), 1_000, 10_000, one).summary()
}

/// A number in [0, 1), without any pattern.
fn chance(index: u64) -> f64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn stalls_at_regular_distances_are_found_with_period_and_length() {
    // Every 1.25 s the target stops for 150 ms.
    let stalls = answered(|index| 2 * MS + 150_u64.saturating_sub(index % 1_250) * MS);
    let said = claim(&stalls, "periodic-stalls");
    assert!(
        said.starts_with("the target stalls about every 1.25 s (8 times, first at 0 "),
        "{said}"
    );
    assert!(said.contains("152 ms"), "{said}");
    let seldom = answered(|index| 2 * MS + 150_u64.saturating_sub(index % 4_000) * MS);
    assert!(!has(&seldom, "periodic-stalls"), "three are chance");
    let irregular = [300, 900, 2_100, 2_900, 4_700, 5_100, 7_300, 7_900, 9_800];
    let scattered = answered(|index| {
        let near = irregular.iter().any(|&at| (at..at + 100).contains(&index));
        if near { 80 * MS } else { 2 * MS }
    });
    assert!(!has(&scattered, "periodic-stalls"));
}

#[test]
fn two_ways_of_being_served_are_told_from_a_stall() {
    let cache = answered(|index| if chance(index) < 0.2 { 20 * MS } else { MS });
    let said = claim(&cache, "bimodal");
    assert!(said.starts_with("home is served in one of two ways: 80"), "{said}");
    let finding = cache.findings.iter().find(|finding| finding.code == "bimodal").unwrap();
    assert_eq!(finding.operation.as_deref(), Some("home"));
    let stall = answered(|index| if (5_000..6_500).contains(&index) { 20 * MS } else { MS });
    assert!(!has(&stall, "bimodal"), "a second and a half of slowness is no second way");
    let near = answered(|index| if chance(index) < 0.2 { 900_000 } else { 300_000 });
    assert!(!has(&near, "bimodal"), "less than a millisecond apart");
}

#[test]
fn one_mode_with_a_long_tail_is_not_two() {
    let exponential = answered(|index| (-(1.0 - chance(index)).ln() * 5e6) as u64 + 1);
    assert!(!has(&exponential, "bimodal") && !has(&exponential, "mean-far-from-median"));
}

#[test]
fn a_mean_far_from_the_median_is_told() {
    let summary = answered(|index| if index % 100 == 9 { 900 * MS } else { 2 * MS });
    let said = claim(&summary, "mean-far-from-median");
    assert!(said.starts_with("the mean response time (11.0 ms) is 5.4"), "{said}");
}

#[test]
fn failures_in_a_burst_say_when() {
    let burst = failing(|index| (4_000..4_050).contains(&index));
    assert_eq!(
        claim(&burst, "failures-in-a-burst"),
        "50 of 50 operations that did not succeed were due between 4.00 s and 4.10 s"
    );
    let few = failing(|index| (4_000..4_003).contains(&index));
    assert!(claim(&few, "failures-in-a-burst").starts_with("3 of 3 operations"));
    let near = failing(|index| matches!(index, 4_000 | 4_500 | 5_000));
    assert!(!has(&near, "failures-in-a-burst"), "chance brings three within a tenth of the load");
    let spread = failing(|index| index % 200 == 0);
    assert!(!has(&spread, "failures-in-a-burst") && !has(&spread, "failures-at-the-end"));
    let end = failing(|index| index >= 9_900);
    assert!(claim(&end, "failures-at-the-end").contains("so the target broke down"));
    assert!(!has(&end, "failures-in-a-burst"));
}

#[test]
fn a_percentile_of_survivors_is_named() {
    let summary = failing(|index| index % 50 == 0);
    assert_eq!(
        claim(&summary, "failures-have-no-time"),
        "the p99 of 2.01 ms is that of operations that succeeded; with the 200 that did not, it is never"
    );
    assert!(!has(&failing(|index| index % 500 == 0), "failures-have-no-time"), "p99.9 only");
}

#[test]
fn failures_in_a_closed_load_are_not_work() {
    let closed = |every: u64| {
        let load = "connections = 2\nduration = \"10s\"";
        let one = |index: u64| Op {
            outcome: Some(match index % every {
                0 => Outcome::Failed(FailureKind::Status),
                _ => Outcome::Succeeded,
            }),
            ..Op::answered(2 * MS)
        };
        simulate(&file(load, &[]), 1_000, 10_000, one).summary()
    };
    let said = closed(10);
    assert!(claim(&said, "failures-in-the-throughput").contains("the goodput is 900/s"));
    assert!(!has(&closed(1_000), "failures-in-the-throughput"));
}

#[test]
fn stragglers_hold_a_closed_loop_up() {
    let closed = |slowest: u64, rate: u64| {
        let load = "connections = 20\nduration = \"10s\"";
        simulate(&file(load, &[]), rate, rate * 10, |index| {
            Op::answered(if index == 5 { slowest * MS } else { 2 * MS })
        })
        .summary()
    };
    assert!(claim(&closed(6_000, 1_000), "stragglers").contains("would do 9,9"));
    assert!(!has(&closed(500, 1_000), "stragglers"), "nothing that long");
    assert!(!has(&closed(6_000, 9_000), "stragglers"), "nearly what the median promises");
    // 20 users who think for 18 ms and wait for 2 would do 1,000/s.
    let users = |rate: u64| {
        let load = "users = 20\nthink = \"18ms\"\nduration = \"10s\"";
        simulate(&file(load, &[]), rate, rate * 10, |index| {
            Op::answered(if index == 5 { 6_000 * MS } else { 2 * MS })
        })
        .summary()
    };
    let summary = users(400);
    let said = claim(&summary, "stragglers");
    assert!(said.contains("20 users at the median of") && said.contains("would do 99"), "{said}");
    assert!(!has(&users(900), "stragglers"), "nearly what they promise");
}

#[test]
fn work_that_was_none_is_told() {
    let with = |sum: f64, count: u64| {
        open(|made| {
            let item = &mut made.trial.totals.operations[0].items[0];
            item.sum = sum;
            if count == 0 {
                item.response_time.clear();
            }
        })
    };
    assert_eq!(
        claim(&with(0.0, 10_000), "zero-work"),
        "hits was 0 in all 10,000 answers to home: no work was done"
    );
    assert!(claim(&with(0.0, 0), "zero-work").starts_with("none of 10,000 answers"));
    assert!(!has(&with(1.0, 10_000), "zero-work"));
}

#[test]
fn response_time_against_an_item_has_a_slope_with_an_interval() {
    let with = |median: fn(f64) -> f64| {
        open(|made| {
            let item = &mut made.trial.totals.operations[0].items[0];
            item.response_time.clear();
            for power in 1..=8 {
                let times = (0..100).map(|k| median(0.75 * f64::from(1 << power)) as u64 + k);
                let mut histogram = stats::Histogram::new(stats::COARSE);
                times.for_each(|time| histogram.record(time));
                item.response_time.insert(power, histogram);
            }
        })
    };
    let linear = with(|targets| 1e6 + 1e5 * targets);
    let said = claim(&linear, "grows-with-item");
    assert!(said.contains("each costs 99") || said.contains("each costs 100 µs"), "{said}");
    let power = with(|targets| 1e6 * targets.powi(2));
    assert!(claim(&power, "grows-with-item").contains("with the power 2.00"), "{power:?}");
    assert!(!has(&with(|_| 2e6), "grows-with-item"));
}

/// Exponential, M/M/1 at ρ = 0.8, and a wide product of random numbers, from new draws each time.
#[test]
fn chance_has_no_shape() {
    let proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let mut alarms = Vec::new();
    for seed in 0..if proof { 300 } else { 6 } {
        let draw = |index: u64, stream: u64| chance((seed * 8 + stream) * 100_003 + index);
        let mut busy_until = 0.0_f64;
        let queue: Vec<u64> = (0..10_000)
            .map(|index| {
                let due = index as f64 * 1e6;
                let service = -(1.0 - draw(index, 0)).ln() * 0.8e6;
                busy_until = busy_until.max(due) + service;
                (busy_until - due) as u64 + 1
            })
            .collect();
        let summary = answered(|index| match seed % 3 {
            0 => 1 + (-(1.0 - draw(index, 1)).ln() * 5e6) as u64,
            1 => queue[index as usize],
            _ => (2e6 * ((draw(index, 2) + draw(index, 3) + draw(index, 4)) - 1.5).exp()) as u64,
        });
        let shapes = ["periodic-stalls", "bimodal", "timer-steps", "mean-far-from-median"];
        alarms
            .extend(shapes.into_iter().filter(|code| has(&summary, code)).map(|code| (seed, code)));
    }
    assert!(alarms.len() <= if proof { 3 } else { 0 }, "{alarms:?}");
}

#[test]
fn what_did_not_arrive_is_told_unless_it_is_meant_or_failed() {
    let lost = |lost: u64, failing: u64, expect: Option<bool>| {
        let one = |index| Op {
            outcome: Some(if index < failing {
                Outcome::Failed(FailureKind::Status)
            } else {
                Outcome::Succeeded
            }),
            ..Op::answered(2 * MS)
        };
        let mut made = simulate(&file(CONSTANT, &[]), 1_000, 10_000, one);
        let expect = expect.map(|holds| Expectation {
            text: "lost < 500".to_owned(),
            holds,
            ..Expectation::default()
        });
        let counted = Observer { received: 10_000 - lost, lost, expect, ..example::observer() };
        made.trial.observers = vec![counted];
        made.summary()
    };
    let found = lost(100, 0, None);
    let said = claim(&found, "not-all-arrived");
    assert_eq!(
        said,
        "100 % of operations succeeded, and 1.00 % of what they sent never arrived at sink (100 of 10,000)"
    );
    assert!(has(&lost(100, 0, Some(false)), "not-all-arrived"));
    assert!(!has(&lost(100, 0, Some(true)), "not-all-arrived"), "it is meant");
    assert!(!has(&lost(100, 100, None), "not-all-arrived"), "operations tell it");
    assert!(!has(&lost(10, 0, None), "not-all-arrived"), "a tenth of a point");
    assert!(!has(&lost(0, 0, None), "not-all-arrived"));
}
