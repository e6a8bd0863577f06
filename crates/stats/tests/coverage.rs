//! Whether intervals hold what they promise, on a queue whose quantiles are known.
//!
//! M/M/1: response time is exponential with rate μ − λ, and successive operations depend on each other.

use stats::dispersion::{Dispersion, WindowCount};
use stats::quantile::{Estimate, Grade, Ranks, independent_ranks};
use stats::{FINE, Histogram};

const SERVICE_RATE: f64 = 1_000.0;
const NANOSECONDS: f64 = 1e9;

/// xorshift64*: enough for a simulation, the same on every machine.
struct Randomness(u64);

impl Randomness {
    fn exponential(&mut self, rate: f64) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        -(1.0 - bits as f64 / (1_u64 << 53) as f64).ln() / rate
    }
}

/// A run of an M/M/1 queue: (second of arrival, response time), by Lindley's recursion.
fn run(seed: u64, arrival_rate: f64, seconds: f64) -> Vec<(usize, u64)> {
    let mut randomness = Randomness(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let settle = 2.0;
    let (mut arrival, mut free, mut times) = (0.0, 0.0_f64, Vec::new());
    while arrival < settle + seconds {
        free = free.max(arrival) + randomness.exponential(SERVICE_RATE);
        if arrival >= settle {
            times.push(((arrival - settle) as usize, ((free - arrival) * NANOSECONDS) as u64));
        }
        arrival += randomness.exponential(arrival_rate);
    }
    times
}

fn windows(times: &[(usize, u64)], threshold: u64) -> Vec<WindowCount> {
    let mut windows = vec![WindowCount::default(); times.last().map_or(0, |last| last.0 + 1)];
    for &(second, time) in times {
        windows[second].add(1, u64::from(time > threshold));
    }
    windows
}

fn covers(histogram: &Histogram, ranks: Ranks, truth: u64) -> bool {
    let low = ranks.low.and_then(|rank| histogram.at_rank(rank)).map_or(0, |bucket| bucket.low);
    let high =
        ranks.high.and_then(|rank| histogram.at_rank(rank)).map_or(u64::MAX, |bucket| bucket.high);
    (low..=high).contains(&truth)
}

#[test]
fn dispersion_makes_intervals_of_a_queue_honest() {
    const RUNS: u64 = 60;
    let (arrival_rate, q) = (500.0, 0.99);
    let truth = (-f64::ln(1.0 - q) / (SERVICE_RATE - arrival_rate) * NANOSECONDS) as u64;
    let (mut naive, mut widened, mut claimed) = (0, 0, 0);
    for seed in 1..=RUNS {
        let times = run(seed, arrival_rate, 60.0);
        let mut histogram = Histogram::new(FINE);
        times.iter().for_each(|&(_, time)| histogram.record(time));
        let observed = histogram.quantile(q).unwrap();
        let estimate =
            Estimate::new(q, histogram.count(), &Dispersion::of(&windows(&times, observed)));
        naive +=
            u64::from(covers(&histogram, independent_ranks(q, histogram.count(), 0.95), truth));
        widened += u64::from(covers(&histogram, estimate.interval, truth));
        claimed += u64::from(estimate.grade == Grade::Supported);
    }
    assert!(naive < RUNS * 75 / 100, "taken for independent, {naive} of {RUNS} intervals cover");
    assert!(widened >= RUNS * 90 / 100, "widened, {widened} of {RUNS} intervals cover");
    assert!(claimed >= RUNS / 2, "{claimed} of {RUNS} runs may claim it");
}
