//! The arithmetic of answers against hand-made cases and closed forms; nothing here reads a clock.

use super::*;

const MS: u64 = 1_000_000;

fn dues(timing: Timing, arrivals: &[u64]) -> Vec<u64> {
    let mut model = Model::new(timing, 1);
    arrivals.iter().map(|arrived| model.plan(*arrived).due_ns).collect()
}

/// Mean response in seconds of a queue at `lambda`, over `count` Poisson arrivals and one seed.
fn mean_response(timing: Timing, lambda: f64, seed: u64, count: u64) -> f64 {
    let mut model = Model::new(timing, seed);
    let mut gaps = Draws::new(seed + 1_000_000);
    let (mut arrived, mut sum) = (0, 0.0);
    for _ in 0..count {
        arrived += gaps.exponential_ns(lambda);
        sum += (model.plan(arrived).due_ns - arrived) as f64 / 1e9;
    }
    sum / count as f64
}

fn mean_over_seeds(timing: Timing, lambda: f64) -> f64 {
    (1..=40).map(|seed| mean_response(timing, lambda, seed, 20_000)).sum::<f64>() / 40.0
}

#[test]
fn constant_answers_overlap_freely() {
    assert_eq!(
        dues(Timing::Constant { service_ns: MS }, &[0, 1, 1, 5 * MS]),
        [MS, MS + 1, MS + 1, 6 * MS]
    );
}

#[test]
fn a_queue_follows_lindley_by_hand() {
    let mut queue = Queue::default();
    let planned: Vec<u64> =
        [(0, 10), (4, 3), (20, 5), (21, 1)].map(|(at, time)| queue.plan(at, time).due_ns).into();
    assert_eq!(planned, [10, 13, 25, 26]);
}

#[test]
fn md1_serves_one_at_a_time() {
    assert_eq!(
        dues(Timing::Md1 { rate: 1000.0 }, &[0, 0, 0, 10 * MS]),
        [MS, 2 * MS, 3 * MS, 11 * MS]
    );
}

#[test]
fn mm1_mean_response_is_one_over_mu_minus_lambda() {
    for (lambda, expect) in [(500.0, 0.002), (800.0, 0.005)] {
        let mean = mean_over_seeds(Timing::Mm1 { rate: 1000.0 }, lambda);
        assert!((mean / expect - 1.0).abs() < 0.02, "λ {lambda}: {mean} against {expect}");
    }
}

#[test]
fn md1_mean_response_follows_pollaczek_and_khinchine() {
    // 1/μ + ρ / (2 μ (1 − ρ))
    for (lambda, expect) in [(500.0, 0.0015), (800.0, 0.003)] {
        let mean = mean_over_seeds(Timing::Md1 { rate: 1000.0 }, lambda);
        assert!((mean / expect - 1.0).abs() < 0.02, "λ {lambda}: {mean} against {expect}");
    }
}

#[test]
fn mm1_median_is_the_exponential_ones() {
    // Response of M/M/1 is exponential with rate μ − λ: median ln 2 / 500 s at ρ = 0.5.
    let mut model = Model::new(Timing::Mm1 { rate: 1000.0 }, 3);
    let mut gaps = Draws::new(4);
    let mut arrived = 0;
    let mut responses: Vec<u64> = (0..200_000)
        .map(|_| {
            arrived += gaps.exponential_ns(500.0);
            model.plan(arrived).due_ns - arrived
        })
        .collect();
    responses.sort_unstable();
    let median = responses[responses.len() / 2] as f64 / 1e9;
    let expect = std::f64::consts::LN_2 / 500.0;
    assert!((median / expect - 1.0).abs() < 0.03, "{median} against {expect}");
}

#[test]
fn the_same_seed_draws_the_same_and_another_does_not() {
    let draw = |seed| {
        let mut model = Model::new(Timing::Mm1 { rate: 1000.0 }, seed);
        (0..50).map(|index| model.plan(index * MS).due_ns).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn bimodal_draws_two_times_in_their_shares() {
    let timing = Timing::Bimodal { slow_share: 0.1, fast_ns: MS, slow_ns: 10 * MS };
    let planned = dues(timing, &[0; 20_000]);
    let slow = planned.iter().filter(|due| **due == 10 * MS).count();
    assert!(planned.iter().all(|due| *due == MS || *due == 10 * MS));
    // 2,000 ± 4 standard deviations of 42
    assert!((1830..=2170).contains(&slow), "{slow}");
}

#[test]
fn a_freeze_holds_back_what_arrives_in_it_or_was_due_in_it() {
    let timing =
        Timing::Freeze { service_ns: MS, at_ns: 10 * MS, length_ns: 5 * MS, every_ns: None };
    let base = 100 * MS;
    let arrivals = [0, 8, 9, 10, 14, 15, 30].map(|ms| base + ms * MS);
    // The answer due at 10 falls into the freeze; one that arrives at 14 is due at 15 anyway.
    assert_eq!(dues(timing, &arrivals), [1, 9, 15, 15, 15, 16, 31].map(|ms| base + ms * MS));
}

#[test]
fn a_thousand_requests_a_second_wait_uniformly_in_a_second_of_freeze() {
    let timing =
        Timing::Freeze { service_ns: 0, at_ns: 4_500 * MS, length_ns: 1_000 * MS, every_ns: None };
    let arrivals: Vec<u64> = (0..10_000).map(|index| index * MS).collect();
    let mut responses: Vec<u64> =
        dues(timing, &arrivals).iter().zip(&arrivals).map(|(due, arrived)| due - arrived).collect();
    responses.sort_unstable();
    assert_eq!(responses[9_500 - 1], 500 * MS);
    assert_eq!(responses[9_900 - 1], 900 * MS);
    assert_eq!(responses[10_000 - 1], 1_000 * MS);
}

#[test]
fn a_periodic_freeze_comes_again() {
    let timing = Timing::Freeze {
        service_ns: 0,
        at_ns: 10 * MS,
        length_ns: 2 * MS,
        every_ns: Some(10 * MS),
    };
    let arrivals = [0, 1, 11, 12, 21, 25, 30].map(|ms| ms * MS);
    assert_eq!(dues(timing, &arrivals), [0, 1, 12, 12, 22, 25, 32].map(|ms| ms * MS));
}

#[test]
fn a_leak_slows_every_later_request() {
    let timing = Timing::Leak { service_ns: MS, growth_ns: 10 };
    assert_eq!(dues(timing, &[0, 0, 0]), [MS, MS + 10, MS + 20]);
}
