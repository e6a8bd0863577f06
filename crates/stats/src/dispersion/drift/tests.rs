use super::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
    above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
}

/// The number of 100 that a logistic curve over 64 windows expects in this one.
fn expected(place: usize, level: f64, slope: f64) -> f64 {
    100.0 / (1.0 + (-level - slope * place as f64 / 64.0).exp())
}

fn phi(windows: &[WindowCount]) -> f64 {
    Dispersion::around(windows, Around::Drift(&[windows.len()])).phi
}

#[test]
fn two_places_have_the_shares_that_were_seen() {
    // Three trials of two windows: 60 and 150 of 300.
    let seen = shares(&windows([10, 40, 20, 50, 30, 60]), &[2, 2, 2]);
    for (seen, known) in seen.iter().zip([0.2, 0.5].repeat(3)) {
        assert!((seen - known).abs() < 1e-6, "{seen} is not {known}");
    }
}

#[test]
fn windows_without_operations_have_the_share_of_their_place() {
    let mut sparse = windows([20, 0, 50]);
    sparse[1] = WindowCount::default();
    let seen = shares(&sparse, &[3]);
    // Halfway between the logits of 1/5 and 1/2, which are −ln 4 and 0.
    assert!((seen[1] - 1.0 / 3.0).abs() < 1e-6, "{seen:?}");
    assert!(shares(&windows([5; 3]), &[3]).iter().all(|share| (share - 0.05).abs() < 1e-9));
}

#[test]
fn a_drift_is_no_dispersion_however_steep_it_is() {
    for slope in [1.0, 10.0, 100.0, -30.0] {
        let drift = (0..64).map(|place| expected(place, -slope / 3.0, slope).round() as u32);
        let drift = windows(drift);
        let (around_mean, around_drift) = (Dispersion::of(&drift).phi, phi(&drift));
        assert_eq!(around_drift, 1.0, "{slope}: {around_mean}");
        assert!(slope == 1.0 || around_mean > 50.0, "{slope}: {around_mean}");
    }
    assert_eq!(phi(&windows((0..64).map(|place| if place < 40 { 0 } else { 100 }))), 1.0);
}

#[test]
fn what_varies_around_a_drift_is_dispersion() {
    // e ± 20 in turns, where e·(1 − e/100) is the variance of independent draws.
    let mean = |place| expected(place, -1.0, 2.0);
    let swinging = (0..64).map(|place| mean(place) + if place % 2 == 0 { 20.0 } else { -20.0 });
    let swinging = windows(swinging.map(|above| above.round() as u32));
    let variances = (0..64).map(|place| mean(place) * (1.0 - mean(place) / 100.0));
    let [sum, squares] = variances.fold([0.0; 2], |[sum, squares], variance: f64| {
        [sum + variance, squares + variance * variance]
    });
    // Two parameters, and a variance that is known as well as its degrees of freedom let it.
    let left = 62.0 / 64.0;
    let known = 64.0 * 400.0 / sum / left * unsure(sum * sum / squares * left);
    let seen = phi(&swinging);
    assert!((seen / known - 1.0).abs() < 0.01, "{seen} is not {known}");
}

#[test]
fn a_lone_burst_stays_dispersion() {
    for from in [10, 20, 30, 40] {
        let burst = (0..64).map(|place| if (from..from + 10).contains(&place) { 100 } else { 0 });
        let burst = windows(burst);
        let (around_mean, around_drift) = (Dispersion::of(&burst).phi, phi(&burst));
        assert!(around_drift > around_mean / 2.0, "{from}: {around_drift} of {around_mean}");
    }
}

#[test]
fn what_differs_between_trials_of_one_course_stays_dispersion() {
    let trial = |level: f64| (0..32).map(move |place| expected(2 * place, level, 6.0) as u32);
    let (alike, unlike) = ([-3.0; 4], [-5.0, -2.0, -4.0, -1.0]);
    let phi_of = |levels: [f64; 4]| {
        let all = windows(levels.into_iter().flat_map(trial));
        Dispersion::around(&all, Around::Drift(&[32; 4])).phi
    };
    assert_eq!(phi_of(alike), 1.0);
    let seen = phi_of(unlike);
    assert!(seen > 20.0, "{seen}");
}

#[test]
fn few_windows_tell_no_curve() {
    let few = windows((0..15).map(|place| if place < 9 { 0 } else { 100 }));
    assert_eq!(phi(&few), Dispersion::of(&few).phi);
}

#[test]
fn independent_draws_have_no_dispersion_with_a_drift_and_without() {
    const RUNS: u64 = 200;
    for slope in [0.0, 3.0] {
        let mut chance = 0;
        for seed in 1..=RUNS {
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut unit = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let drawn = (0..64).map(|place| {
                let share = expected(place, -slope, slope) / 100.0;
                (0..100).filter(|_| unit() < share).count() as u32
            });
            chance += u64::from(phi(&windows(drawn.collect::<Vec<_>>())) > 1.0);
        }
        // Three lengths of blocks, each above its bound in one run of twenty: at most 30 of 200, and 15 more by chance.
        assert!(chance <= 45, "{slope}: {chance} of {RUNS}");
    }
}

#[test]
fn what_a_few_bursts_made_is_taken_for_more() {
    // Deviations of ±4 in 60 windows and ±32 in 4: (60 + 4·64)²·3/(60 + 4·4,096) is 18 degrees of freedom, not 63.
    let above = (0..64_u32).map(|place| {
        let swing = if [10, 11, 40, 41].contains(&place) { 32 } else { 4 };
        if place % 2 == 0 { 50 + swing } else { 50 - swing }
    });
    let burst = windows(above);
    let plain = Dispersion::of(&burst);
    let known = plain.phi * unsure(3.0 * 316.0 * 316.0 / 16_444.0);
    let seen = Dispersion::around(&burst, Around::Mean);
    assert!((seen.phi / known - 1.0).abs() < 1e-9, "{seen:?} is not {known}");
}

#[test]
fn no_dispersion_is_more_than_that_of_blocks_that_are_all_above_or_all_below() {
    let stepped = windows((0..16).map(|place| if place < 15 { 0 } else { 100 }));
    let seen = Dispersion::around(&stepped, Around::Mean);
    assert!((seen.phi - 1_600.0 / 15.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn what_few_degrees_of_freedom_show_is_taken_for_more() {
    // Squares of t(0.95) over 1.644854, from the tables: 1.812461 at ten degrees of freedom, 2.015048 at five.
    for (freedom, known) in [(10.0, 1.214_15), (5.0, 1.500_74), (1e9, 1.0)] {
        assert!((unsure(freedom) - known).abs() < 1e-4, "{freedom}: {}", unsure(freedom));
    }
}

#[test]
fn a_threshold_that_is_passed_at_once_carries_nothing() {
    // In three windows the share goes from none to all, and swings there.
    let above = |place: u32| [0, 80, 10, 90, 100][place.saturating_sub(30).min(4) as usize];
    let (passed, none) = (windows((0..64).map(above)), windows([0; 64]));
    let tail = |around| Dispersion::of_tail_at(&[&passed], &none, 0.01, around).phi;
    assert!(phi(&passed) > 5.0, "{}", phi(&passed));
    assert_eq!(tail(Around::Drift(&[64])), 1.0);
    assert!(tail(Around::Mean) > 100.0);
}
