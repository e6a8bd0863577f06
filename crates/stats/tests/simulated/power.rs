//! How often criteria decide, for the runs that people make: by rate, length and distance of the bound.
//!
//! The short form has one rate and one length. `PROOFLOAD_PROOF=1` has seeds 1 – 1,000 and prints the table of power in
//! docs/concepts/intervals.md.

use crate::answers::{Case, HEADING, Tally, is_proof, slack};
use crate::systems::{Changing, System, Times};

const RATES: [f64; 3] = [50.0, 100.0, 1_000.0];
const LENGTHS: [u32; 3] = [30, 60, 300];
/// A minute at this rate must decide in nine of ten runs with the bound at twice the quantile.
const PROMISED: (f64, u32) = (500.0, 60);
const POWER: f64 = 0.9;

/// One in a state at two loads, draws, pauses, and growth; whether it drifts.
fn systems(rate: f64) -> [(System, bool); 5] {
    let queue = |load: f64| System::Queue { service_rate: rate / load, load };
    let growth = Changing::Growth { from: 0.001, to: 0.005, noise: 0.000_2 };
    [
        (queue(0.5), false),
        (queue(0.8), false),
        (System::Draws { rate, times: Times::Exponential }, false),
        (System::Pauses { rate, up: 4.9, down: 0.1 }, false),
        (System::Changing { rate, change: growth }, true),
    ]
}

#[test]
fn a_minute_at_500_a_second_decides_at_twice_the_quantile() {
    println!("{HEADING}");
    let runs = RATES.into_iter().flat_map(|rate| LENGTHS.map(|seconds| (rate, seconds)));
    for (rate, seconds) in runs.filter(|_| is_proof()).chain([PROMISED]) {
        for (system, drifts) in systems(rate) {
            let case = Case { system, seconds, q: 0.99, drifts };
            let seen = Tally::of(&case);
            seen.print(&case);
            let decided = seen.right_at(2.0) >= POWER - slack(POWER);
            assert!((rate, seconds) != PROMISED || decided, "{system}: {}", seen.right_at(2.0));
        }
    }
}
