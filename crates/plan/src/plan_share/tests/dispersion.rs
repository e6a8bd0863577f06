//! Random arrivals in shares whose clocks are wrong and drift are still a Poisson process, and dealt ones would not be.

use std::time::Duration;

use stats::arrivals::index_of_dispersion;

use super::super::PlanShare;
use crate::load::{ArrivalProcess, Stop};
use crate::randomness::{RandomStream, draw, unit};
use crate::schedule::{Arrival, Schedule};

const SECOND: u64 = 1_000_000_000;
const LENGTH: u64 = 200 * SECOND;
const PROCESS: ArrivalProcess = ArrivalProcess::Poisson { rate: 1_000.0 };
/// Lengths of windows.
const SCALES: [u64; 5] = [SECOND / 1_000, SECOND / 100, SECOND / 10, SECOND, 10 * SECOND];
/// Most that a clock is wrong at the start, and by which it drifts.
const WRONG_NS: f64 = 20e6;
const DRIFT: f64 = 50e-6;

/// Which share of so many owns this index in a trial with this seed.
type Owner = fn(u32, u64, u64) -> u32;

fn drawn(of: u32, index: u64, seed: u64) -> u32 {
    let owns = |&number: &u32| PlanShare { number, of }.place(&PROCESS, index, seed).is_some();
    (1..=of).find(owns).expect("each index has an owner")
}

fn dealt(of: u32, index: u64, _: u64) -> u32 {
    let owns = |&number: &u32| PlanShare { number, of }.dealt(index).is_some();
    (1..=of).find(owns).expect("each index has an owner")
}

fn planned(seed: u64) -> Schedule {
    let after = Duration::from_nanos(LENGTH);
    Schedule::new(&PROCESS, Stop::Duration { after }, seed)
}

/// A number from -1 to 1.
fn around_zero(seed: u64, index: u64) -> f64 {
    2.0 * unit(draw(seed, RandomStream::Content, index)) - 1.0
}

/// When each share begins what it owns, by a clock that is right.
fn by_share(of: u32, seed: u64, owner: Owner) -> Vec<Vec<u64>> {
    let mut shares = vec![Vec::new(); of as usize];
    for arrival in planned(seed) {
        let place = owner(of, arrival.index, seed) - 1;
        let clock = |index| around_zero(seed, 2 * u64::from(place) + index);
        let at = arrival.offset_ns as f64 * (1.0 + DRIFT * clock(0)) + WRONG_NS * (1.0 + clock(1));
        shares[place as usize].push(at as u64);
    }
    shares
}

/// Counts per window. The first and the last tenth of a second are left out: not all clocks are there.
fn counts(arrivals: &[u64], scale: u64) -> Vec<u64> {
    const EDGE: u64 = SECOND / 10;
    let mut counts = vec![0; ((LENGTH - 2 * EDGE) / scale) as usize];
    for at in arrivals {
        let window = at.checked_sub(EDGE).map(|since| (since / scale) as usize);
        if let Some(count) = window.and_then(|window| counts.get_mut(window)) {
            *count += 1;
        }
    }
    counts
}

/// How far the index of dispersion is from that of a Poisson process over all these series, in standard deviations, and
/// its mean. Given the sum of counts, (k − 1)·D of k windows has mean k − 1 and variance 2·(k − 1).
fn departure(series: &[Vec<u64>], scale: u64) -> (f64, f64) {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for arrivals in series {
        let counts = counts(arrivals, scale);
        let free = counts.len() as f64 - 1.0;
        sum += free * index_of_dispersion(&counts).expect("arrivals");
        freedom += free;
    }
    ((sum - freedom) / (2.0 * freedom).sqrt(), sum / freedom)
}

fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=if std::env::var_os("PROOFLOAD_PROOF").is_some() { 50 } else { 8 }
}

/// The union of the shares, for each seed.
fn unions(of: u32, owner: Owner) -> Vec<Vec<u64>> {
    seeds().map(|seed| by_share(of, seed, owner).concat()).collect()
}

/// One share, for each seed.
fn single(of: u32, owner: Owner) -> Vec<Vec<u64>> {
    seeds().map(|seed| by_share(of, seed, owner).swap_remove(0)).collect()
}

#[test]
fn the_union_of_shares_is_the_plan_index_by_index() {
    for of in [2, 4, 8] {
        let whole: Vec<Arrival> = planned(7).collect();
        let owned = |share: PlanShare| {
            planned(7).filter(move |one| share.place(&PROCESS, one.index, 7).is_some())
        };
        let mut union: Vec<Arrival> =
            (1..=of).flat_map(|number| owned(PlanShare { number, of })).collect();
        union.sort_unstable_by_key(|arrival| arrival.index);
        assert!(union == whole, "{of} shares");
    }
}

#[test]
fn shares_with_wrong_clocks_unite_to_a_poisson_process_from_a_millisecond_to_ten_seconds() {
    for of in [2, 4, 8] {
        let (unions, single) = (unions(of, drawn), single(of, drawn));
        for scale in SCALES {
            for (what, series) in [("all", &unions), ("one", &single)] {
                let (away, dispersion) = departure(series, scale);
                println!(
                    "{what} of {of} shares, {scale} ns: {dispersion:.4}, {away:.1} deviations"
                );
                assert!(away.abs() < 4.0, "{what} of {of}, {scale} ns: {dispersion}, {away}");
            }
        }
    }
}

/// If arrivals at random were dealt, a share would be far more even than it should be, and so would be the union, over
/// times as short as the clocks are wrong.
#[test]
fn dealt_shares_would_not() {
    for of in [2, 4, 8] {
        let (unions, single) = (unions(of, dealt), single(of, dealt));
        let (away, dispersion) = departure(&single, SECOND);
        let known = 1.0 / f64::from(of);
        assert!(away < -10.0, "{of}: {away}");
        // Gaps are sums of as many exponential ones as there are shares.
        assert!((dispersion / known - 1.0).abs() < 0.15, "{of}: {dispersion}, not {known}");
        let (away, dispersion) = departure(&unions, SECOND / 100);
        println!("dealt to {of} shares: {dispersion:.3} in windows of 10 ms, {away:.0} deviations");
        assert!(away < -10.0, "{of}: {away}");
    }
}
