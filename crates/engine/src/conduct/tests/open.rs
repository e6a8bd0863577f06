//! Open load: intended starts, pool, cap, drain.

use std::time::Duration;

use plan::load::{ArrivalProcess, Model, Reuse, Spacing, Stage, Stop, WarmUp};
use record::event::EventKind;

use super::echo::{answer_after, answer_in_turn, never_answer};
use super::{MS, SECOND, Trying};

/// The case of HdrHistogram's README: 1 ms for 100 s, then frozen for 100 s.
#[test]
fn a_freeze_of_100_s_shows_in_full() {
    let mut trying = Trying::constant(100.0, 200);
    trying.load.timeout = Duration::from_secs(200);
    trying.load.connections = 20_000;
    answer_after(&trying.network, &trying.clock, |now| {
        if now < 100 * SECOND { MS } else { 200 * SECOND - now }
    });
    let tried = trying.run();
    let total = tried.trial.totals.total();
    assert_eq!(tried.accounting().succeeded, 20_000);
    for (q, expect) in [(0.5, 1), (0.75, 50_000), (0.9, 80_000), (0.99, 98_000)] {
        let observed = total.response_time.quantile(q).unwrap() as f64;
        let expect = (expect * MS) as f64;
        assert!((observed / expect - 1.0).abs() <= 1.0 / 1024.0, "q{q}: {observed} ns");
    }
    // 10,000 times 1 ms, and 100 s, 99.99 s … 0.01 s.
    assert_eq!(total.response_time.sum(), 10_000 * u128::from(MS) + 10_000 * 10_001 / 2 * 10_000_000);
}

#[test]
fn the_mean_of_the_freeze_is_that_of_the_book() {
    // The README's 25.003 s counts 1 ms for the first half and 10 ms … 100 s for the second.
    let sum = 10_000 * u128::from(MS) + 10_000 * 10_001 / 2 * 10_000_000;
    assert_eq!(sum / 20_000, 25_003_000_000);
}
