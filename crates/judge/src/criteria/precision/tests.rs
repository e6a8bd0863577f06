use record::{FailureKind, Outcome};

use super::*;
use crate::simulated::{Op, Simulated, file, simulate};

const MS: u64 = 1_000_000;

/// 200/s for 60 s; the operation of index k takes `service(k)`.
fn run(criteria: &[&str], service: impl Fn(u64) -> u64) -> Simulated {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    simulate(&file(load, criteria), 200, 12_000, |index| Op::answered(service(index)))
}

/// The precision that is reported after this many seconds.
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
    // Every fifth second, all operations take 10 ms: p50 is certainly 1 ms, and p90 can be anything.
    let uneven = |index: u64| if index / 200 % 5 == 4 { 10 * MS } else { even(index) };
    assert!(found(&run(&["p50 < 20ms"], even), 30).is_some());
    assert_eq!(found(&run(&["p75 < 20ms"], uneven), 60), None);
}

#[test]
fn a_quantile_among_operations_that_never_succeeded_is_not_known() {
    let load = "rate = \"200/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let made = simulate(&file(load, &["p95 < 20ms"]), 200, 12_000, |index| Op {
        outcome: Some(match index % 10 {
            5 => Outcome::Failed(FailureKind::Timeout),
            _ => Outcome::Succeeded,
        }),
        ..Op::answered(MS)
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

/// Bytes that the windows of a series hold.
fn bytes(series: &QuantileSeries) -> usize {
    let kept = series.kept.iter().chain([&series.all]);
    let histograms = kept.filter(|seen| seen.times.is_some()).count();
    let counted = series.counted.iter().flat_map(WindowSeries::windows);
    let counts: usize = counted.map(|windows| size_of_val(&windows[..])).sum();
    histograms * Histogram::memory(COARSE) as usize + counts
}

#[test]
fn a_quarter_of_an_hour_takes_no_more_memory_than_a_minute() {
    let load = "rate = \"20/s\"\narrivals = \"constant\"\nduration = \"900s\"";
    let made =
        simulate(&file(load, &["p95 < 1s"]), 20, 900 * 20, |index| Op::answered(even(index)));
    let mut precision = Precision::new(&made.plan, &made.plan.arms[0]);
    let mut after = Vec::new();
    for window in made.windows() {
        precision.add(window);
        after.push(bytes(&precision.series[0]));
    }
    // 60 windows and their sum, 32 kB each; later the sum, and 8 bytes for each window and threshold.
    let histogram = Histogram::memory(COARSE) as usize;
    assert_eq!(histogram, 31_744);
    assert_eq!(after.iter().max(), Some(&(61 * histogram)));
    assert_eq!((after.len(), after[899]), (900, histogram + 900 * 4 * 8));
}

/// A queue of one server, due every 5 ms: Lindley's recursion with exponential service of 4 ms.
fn queue(seed: u64, seconds: u64) -> Simulated {
    let load = format!("rate = \"200/s\"\narrivals = \"constant\"\nduration = \"{seconds}s\"");
    let mut wait = 0.0;
    let times = (0..200 * seconds).map(|index| {
        let chance = (even(seed << 32 | index) - MS + 1) as f64 / 1e6;
        let time: f64 = wait - 4e6 * chance.ln();
        wait = (time - 5e6).max(0.0);
        time as u64
    });
    let times: Vec<u64> = times.collect();
    simulate(&file(&load, &["p95 < 1s"]), 200, 200 * seconds, |index| Op {
        lag: 0,
        ..Op::answered(times[index as usize])
    })
}

#[test]
fn thresholds_of_the_first_minute_tell_the_interval_of_the_report() {
    let mut factors = Vec::new();
    for seed in 1..=20 {
        let mut made = queue(seed, 240);
        made.trial.confidence = CONFIDENCE;
        let mut precision = Precision::new(&made.plan, &made.plan.arms[0]);
        made.windows().iter().for_each(|window| precision.add(window));
        assert!(precision.series[0].counted.is_some());
        let seen = half_width(&precision.series[0].estimates()[0]).unwrap();
        let summary = made.summary();
        let quantiles = &summary.arms[0].trials[0].total.response_time.quantiles;
        let full = quantiles.iter().find(|one| one.q == 0.95).and_then(half_width).unwrap();
        factors.push(seen / full);
    }
    factors.sort_unstable_by(f64::total_cmp);
    assert!(0.95 < factors[0] && factors[19] < 1.15, "{factors:?}");
    assert!((0.95..1.05).contains(&factors[10]), "{factors:?}");
}
