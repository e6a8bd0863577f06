//! Queues with closed forms: one server with rate 1,000/s, Poisson arrivals.
//!
//! Each case is run with seeds 1 to 100. Means and medians, averaged over the seeds, must lie
//! within 2 % of the closed form. The runs are so long that the standard error is well below that:
//! at load 0.8, the mean over 100 runs of 30 s has a standard error of 0.6 % (asymptotic variance
//! of M/M/1, Whitt 1989).

use std::time::Duration;

use plan::load::{ArrivalProcess, Model, WarmUp};
use plan::randomness::{RandomStream, draw, unit};

use super::TestTrial;
use super::echo::answer_in_turn;

/// Nanoseconds of service at 1,000/s.
const SERVICE: f64 = 1e6;

/// Mean and median of response time in milliseconds, averaged over seeds 1 to 100.
fn averages(load: f64, seconds: u64, service: fn(u64) -> Box<dyn FnMut() -> u64>) -> (f64, f64) {
    let (mut means, mut medians) = (0.0, 0.0);
    for seed in 1..=100 {
        let arrivals = ArrivalProcess::Poisson { rate: load * 1_000.0 };
        let mut test_trial = TestTrial::new(Model::Open { arrivals }, Duration::from_secs(seconds));
        test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(1) };
        test_trial.seed = seed;
        answer_in_turn(&test_trial.network, &test_trial.clock, service(seed));
        let tried = test_trial.run();
        let accounting = tried.accounting();
        assert_eq!(accounting.planned, accounting.succeeded);
        let times = tried.trial.totals.total().response_time;
        means += times.mean() / 1e6;
        medians += times.quantile(0.5).unwrap() as f64 / 1e6;
    }
    (means / 100.0, medians / 100.0)
}

pub(super) fn exponential(seed: u64) -> Box<dyn FnMut() -> u64> {
    let mut served = 0;
    Box::new(move || {
        served += 1;
        // A stream that the schedule does not use. Draws lie in (0, 1].
        (-unit(draw(seed, RandomStream::Content, served)).ln() * SERVICE).round() as u64
    })
}

fn fixed(_: u64) -> Box<dyn FnMut() -> u64> {
    Box::new(|| SERVICE as u64)
}

#[track_caller]
fn check((mean, median): (f64, f64), (expect_mean, expect_median): (f64, f64)) {
    assert!((mean / expect_mean - 1.0).abs() < 0.02, "mean {mean} ms, not {expect_mean}");
    assert!((median / expect_median - 1.0).abs() < 0.02, "median {median} ms, not {expect_median}");
}

#[test]
fn exponential_service_at_half_load() {
    // 1/(μ − λ), and ln 2 of it.
    check(averages(0.5, 10, exponential), (2.0, 2.0 * 2_f64.ln()));
}

#[test]
fn exponential_service_at_four_fifths_load() {
    check(averages(0.8, 30, exponential), (5.0, 5.0 * 2_f64.ln()));
}

#[test]
fn fixed_service_at_half_load() {
    check(averages(0.5, 20, fixed), (1.5, 1.0 + median_wait(0.5)));
}

#[test]
fn fixed_service_at_four_fifths_load() {
    check(averages(0.8, 20, fixed), (3.0, 1.0 + median_wait(0.8)));
}

/// Median of the wait in M/D/1, in service times: the t at which P(W ≤ t) reaches one half.
///
/// Source: Erlang 1909: P(W ≤ t) = (1 − ρ) Σ_{k ≤ t} e^{ρ(t − k)} (−ρ(t − k))^k / k!
fn median_wait(load: f64) -> f64 {
    let at_most = |t: f64| {
        let mut sum = 0.0;
        let mut factorial = 1.0;
        for k in 0..=(t.floor() as i32) {
            factorial *= f64::from(k.max(1));
            let rest = load * (t - f64::from(k));
            sum += rest.exp() * (-rest).powi(k) / factorial;
        }
        (1.0 - load) * sum
    };
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if at_most(middle) < 0.5 { low = middle } else { high = middle }
    }
    high
}
