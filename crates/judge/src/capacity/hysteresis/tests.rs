use record::OperationWindow;

use super::*;

const STEP: u64 = 20;
const SECOND: u64 = 1_000_000_000;
const LOW: f64 = 750.0;

/// xorshift64*: the same on every machine.
struct Chance(u64);

impl Chance {
    fn exponential(&mut self, rate: f64) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        -(1.0 - bits as f64 / (1_u64 << 53) as f64).ln() / rate
    }
}

/// A test of one server in order of arrival, by Lindley's recursion. `served` gives the service rate from whether the
/// server was ever overloaded.
fn hysteresis(seed: u64, served: impl Fn(bool) -> f64) -> Stairs {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut test = HysteresisTest::new(LOW, STEP * SECOND, SECOND);
    let rates = rates(LOW);
    let mut windows: Vec<Histogram> = Vec::new();
    let (mut arrival, mut free, mut was_overloaded) = (0.0, 0.0_f64, false);
    loop {
        let place = (arrival / STEP as f64) as usize;
        let Some(rate) = rates.get(place) else { break };
        was_overloaded |= place >= RATES.len() - 1;
        free = free.max(arrival) + chance.exponential(served(was_overloaded));
        windows.resize_with(arrival as usize + 1, || Histogram::new(COARSE));
        windows[arrival as usize].record(((free - arrival) * 1e9) as u64);
        arrival += chance.exponential(*rate);
    }
    for (number, times) in windows.into_iter().enumerate() {
        let part = OperationWindow {
            planned: times.count(),
            succeeded: times.count(),
            response_time: Some(times),
            ..OperationWindow::default()
        };
        test.add(&Window { number: number as u64, operations: vec![part], ..Window::default() });
    }
    test.judge(14)
}

/// No hysteresis on a queue without memory; 500 of them under `PROOFLOAD_PROOF=1`.
#[test]
fn a_plain_queue_comes_down_as_it_went_up() {
    let is_proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let seeds = if is_proof { 500 } else { 10 };
    for seed in 1..=seeds {
        let stairs = hysteresis(seed, |_| 1_000.0);
        assert!(!shows_hysteresis(&stairs), "seed {seed}: {stairs:?}");
        assert!(stairs.recovered, "seed {seed}: {stairs:?}");
    }
}

#[test]
fn a_server_that_stays_slow_after_an_overload_is_told() {
    for seed in 1..=5 {
        // The overload emptied a cache: the server is half as fast from then on.
        let stairs =
            hysteresis(seed, |was_overloaded| if was_overloaded { 500.0 } else { 1_000.0 });
        assert!(shows_hysteresis(&stairs), "seed {seed}: {stairs:?}");
        assert!(!stairs.recovered, "seed {seed}: {stairs:?}");
        assert_eq!(stairs.recovery_ns, None);
    }
}

#[test]
fn time_to_recover_counts_from_the_end_of_the_highest_step() {
    // One server with fixed service times: at 1.1 low ends it falls behind by 4 % for 20 s, and catches up by 6 %.
    let mut test = HysteresisTest::new(1_000.0, STEP * SECOND, SECOND);
    let rates = rates(1_000.0);
    let (mut free, mut arrival) = (0.0_f64, 0.0);
    let mut windows = vec![Histogram::new(COARSE); rates.len() * STEP as usize];
    while let Some(rate) = rates.get((arrival / STEP as f64) as usize) {
        free = free.max(arrival) + 1.0 / 1_060.0;
        windows[arrival as usize].record(((free - arrival) * 1e9) as u64);
        arrival += 1.0 / rate;
    }
    for (number, times) in windows.into_iter().enumerate() {
        let part = OperationWindow { response_time: Some(times), ..OperationWindow::default() };
        test.add(&Window { number: number as u64, operations: vec![part], ..Window::default() });
    }
    let stairs = test.judge(1);
    let seconds = stairs.recovery_ns.unwrap() / SECOND;
    // 40/s for 20 s, worked off at 60/s.
    assert!((13..=15).contains(&seconds), "{stairs:?}");
    assert!(!shows_hysteresis(&stairs), "recovery is no hysteresis: {stairs:?}");
}

#[test]
fn operations_that_never_succeeded_are_slower_than_all_others() {
    let mut seen = WindowTotals { times: Histogram::new(COARSE), lost: 2 };
    seen.times.record_n(1_000_000, 98);
    assert_eq!(quantile(&[seen.clone()]), None);
    seen.times.record_n(1_000_000, 200);
    assert!(quantile(&[seen]).is_some());
    assert_eq!(quantile(&[]), None);
}
