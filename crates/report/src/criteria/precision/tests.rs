use record::{FailureKind, Outcome};

use super::*;
use crate::simulated::{One, Simulated, file, simulate};

const MS: u64 = 1_000_000;

/// 200/s for 60 s; the operation of index k takes `service(k)`.
fn run(criteria: &[&str], service: impl Fn(u64) -> u64) -> Simulated {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    simulate(&file(load, criteria), 200, 12_000, |index| One::answered(service(index)))
}

/// What is found after so many seconds.
fn found(made: &Simulated, seconds: u64) -> Option<String> {
    let mut precision = Precision::new(&made.plan, &made.plan.arms[0]);
    made.windows().iter().filter(|window| window.number < seconds).for_each(|window| {
        precision.add(window);
    });
    precision.found()
}

/// Independent draws, evenly from 1 to 2 ms.
fn even(index: u64) -> u64 {
    let mut state = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    MS + (state ^ (state >> 31)) % MS
}

#[test]
fn independent_draws_are_known_soon() {
    // p50 of an even distribution: 2.64·√(0.25/n) of its range of 1 ms, so ±1.6 % of 1.5 ms at n = 3,000.
    let made = run(&["p50 < 20ms"], even);
    let said = found(&made, 15);
    assert_eq!(said, None, "fifteen windows support no claim");
    let said = found(&made, 30).unwrap();
    assert!(
        said.starts_with("p50 is known to ±2.") || said.starts_with("p50 is known to ±1."),
        "{said}"
    );
}

#[test]
fn without_a_quantile_in_criteria_the_median_and_p99_are_looked_at() {
    let said = found(&run(&["failed == 0", "mean < 5ms"], even), 30).unwrap();
    assert!(
        said.starts_with("p50 is known to ±") && said.contains(", p99 is known to ±"),
        "{said}"
    );
    let said = found(&run(&["home p75 < 5ms", "service p50 < 5ms"], even), 30).unwrap();
    assert!(said.starts_with("home p75 is known") && said.contains(", p50 is known"), "{said}");
}

#[test]
fn a_quantile_without_support_is_not_known_however_narrow() {
    // 12,000 operations leave 1.2 beyond p99.99.
    assert_eq!(found(&run(&["p99.99 < 20ms"], |_| MS), 60), None);
    assert!(found(&run(&["p99.9 < 20ms"], |_| MS), 60).is_some());
}

#[test]
fn seconds_that_differ_make_intervals_wide() {
    // Every fifth second all take 10 ms: p50 is 1 ms for sure, and p90 anything.
    let uneven = |index: u64| if index / 200 % 5 == 4 { 10 * MS } else { even(index) };
    assert!(found(&run(&["p50 < 20ms"], even), 30).is_some());
    assert_eq!(found(&run(&["p75 < 20ms"], uneven), 60), None);
}

#[test]
fn a_quantile_among_operations_that_never_succeeded_is_not_known() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let made = simulate(&file(load, &["p95 < 20ms"]), 200, 12_000, |index| One {
        outcome: Some(match index % 10 {
            5 => Outcome::Failed(FailureKind::Timeout),
            _ => Outcome::Succeeded,
        }),
        ..One::answered(MS)
    });
    assert_eq!(found(&made, 60), None);
}

#[test]
fn a_thin_tail_beside_a_dispersed_body_is_not_known() {
    // One in fifty takes 5 ms, so that p99 is 5 ms and nothing lies beyond it.
    let tail =
        |body: fn(u64) -> u64| move |index: u64| if index % 50 == 7 { 5 * MS } else { body(index) };
    assert!(found(&run(&["p99 < 20ms"], tail(|_| MS)), 60).is_some());
    let swinging = tail(|index| if index / 200 % 3 == 0 { 2 * MS } else { MS });
    assert_eq!(found(&run(&["p99 < 20ms"], swinging), 60), None);
}
