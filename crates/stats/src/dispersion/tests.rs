use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
    above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
}

fn check(windows: &[WindowCount], phi: f64, blocks: usize) {
    let seen = Dispersion::of(windows);
    assert!((seen.phi - phi).abs() < 1e-9, "{seen:?} is not {phi}");
    assert_eq!(seen.blocks, blocks);
}

#[test]
fn even_windows_count_as_independent() {
    check(&windows([5; 40]), 1.0, 40);
}

#[test]
fn nothing_or_everything_above_says_nothing() {
    check(&windows([0; 40]), 1.0, 40);
    check(&windows([100; 40]), 1.0, 40);
    check(&[], 1.0, 0);
}

#[test]
fn alternating_windows_are_dispersed_at_length_one() {
    // π = 0.05: (10 − 5)²/(100·0.05·0.95) in each of 16 windows.
    check(&windows([10, 0].repeat(8)), 16.0 / 15.0 * 25.0 / 4.75, 16);
}

#[test]
fn runs_of_two_are_more_dispersed_at_length_two() {
    check(&windows([10, 10, 0, 0].repeat(8)), 16.0 / 15.0 * 100.0 / 9.5, 16);
}

#[test]
fn longer_blocks_need_sixteen_of_them() {
    check(&windows([10, 10, 0, 0].repeat(7)), 28.0 / 27.0 * 25.0 / 4.75, 28);
}

#[test]
fn a_short_run_is_not_taken_for_independent() {
    check(&windows([20, 0, 0, 0]), 1.0 / 3.0 * (225.0 + 75.0) / 4.75, 4);
}

#[test]
fn windows_without_operations_count_for_nothing() {
    let mut sparse = windows([10, 0].repeat(8));
    sparse.push(WindowCount::default());
    let seen = Dispersion::of(&sparse);
    assert_eq!((seen.windows, seen.blocks), (16, 16));
}

#[test]
fn one_stall_in_a_hundred_windows_has_the_dispersion_of_its_length() {
    // 1,000/s for 10 s in windows of 100 ms; the slowest 5 % all fall into 5 windows.
    let mut stalled = windows([0; 100]);
    stalled[40..45].fill(WindowCount { total: 100, above: 100 });
    let phi = Dispersion::of(&stalled).phi;
    assert!((200.0..400.0).contains(&phi), "{phi}");
}

#[test]
fn what_chance_would_show_does_not_count() {
    // π = 0.5: 6²/25 = 1.44 in each window; χ²(15)/15 is below 1.67 in 95 of 100 runs.
    check(&windows([56, 44].repeat(8)), 1.0, 16);
    check(&windows([57, 43].repeat(8)), 16.0 / 15.0 * 49.0 / 25.0, 16);
}

#[test]
fn fewer_than_sixteen_windows_count_as_they_are() {
    let few = [56, 44].repeat(7).into_iter().chain([50]);
    check(&windows(few), 1.44, 15);
}

#[test]
fn chance_is_that_of_the_tables_of_chi_square() {
    for (blocks, known) in [(16, 24.996 / 15.0), (31, 43.773 / 30.0), (101, 124.342 / 100.0)] {
        assert!((by_chance(f64::from(blocks - 1)) - known).abs() < 1e-3, "{blocks}");
    }
}

#[test]
fn few_events_borrow_the_dispersion_of_a_lower_threshold() {
    let median = windows([100, 0].repeat(8));
    let tail = windows([1; 16]);
    let seen = Dispersion::of_tail(&[median, tail]);
    // φ = 16/15·100 at π = 1/2; (1 + 0.01·ln 0.01/0.99)/(1 − ln 2) = 3.107 at π = 1/100.
    let known = 1.0 + (16.0 / 15.0 * 100.0 - 1.0) * 3.107_299;
    assert!((seen.phi - known).abs() < 1e-3, "{seen:?} is not {known}");
    assert_eq!((seen.windows, seen.blocks), (16, 16));
}

#[test]
fn nothing_beyond_a_threshold_borrows_the_limit() {
    let seen = Dispersion::of_tail(&[windows([100, 0].repeat(8)), windows([0; 16])]);
    let known = 1.0 + (16.0 / 15.0 * 100.0 - 1.0) / (1.0 - std::f64::consts::LN_2);
    assert!((seen.phi - known).abs() < 1e-9, "{seen:?} is not {known}");
}

#[test]
fn thirty_effective_events_tell_their_dispersion_alone() {
    let median = windows([100, 0].repeat(8));
    let alone = windows([2].repeat(16));
    assert_eq!(Dispersion::of_tail(&[median, alone]).phi, 1.0);
}

#[test]
fn the_dispersion_of_few_events_is_not_lowered_by_a_threshold_that_shows_less() {
    let few = windows([16].into_iter().chain([0; 15]));
    let own = Dispersion::of(&few);
    assert_eq!(Dispersion::of_tail(&[windows([50; 16]), few]), own);
    assert_eq!(Dispersion::of_tail(&[]), Dispersion::independent(0));
}

/// Windows of up to 40 operations, in stretches of which all, none or a random share are above.
fn uneven(seed: u64, count: usize) -> Vec<WindowCount> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |limit: u64| u32::try_from(generator.next_u64() % limit).unwrap();
    let (longest, kinds) = (u64::from(1 + below(20)), u64::from(2 + below(3)));
    let (mut left, mut kind) = (0, 0);
    let window = |_| {
        if left == 0 {
            (left, kind) = (1 + below(longest), below(kinds));
        }
        left -= 1;
        let total = below(41);
        let above = [0, total, below(u64::from(total) + 1), total.min(1)][kind as usize];
        WindowCount { total, above }
    };
    (0..count).map(window).collect()
}

/// Some of them, so that fewer lie above a higher threshold.
fn fewer(windows: &[WindowCount], seed: u64) -> Vec<WindowCount> {
    let higher = uneven(seed, windows.len());
    let pairs = windows.iter().zip(higher);
    pairs.map(|(low, high)| WindowCount { above: low.above.min(high.above), ..*low }).collect()
}

#[test]
fn no_windows_are_more_dispersed_than_the_greatest_dispersion() {
    let mut near = 0;
    for seed in 0..3_000 {
        let windows = uneven(seed, 2 + seed as usize % 150);
        let (sum, filled) = (Sum::of(&windows), windows.iter().filter(|one| one.total > 0).count());
        let higher = fewer(&windows, seed + 10_000);
        let lower: &[&[WindowCount]] = &[&windows];
        for share in [0.001, 0.01, 0.05, 0.25, 0.5, 0.9] {
            let phi = |around| Dispersion::of_tail_at(lower, &higher, share, around).phi;
            let (seen, drifting) = (phi(Around::Mean), phi(Around::Drift(&[windows.len()])));
            for known in 2..=filled {
                let most = Dispersion::greatest(sum.total, known, share).unwrap();
                assert!(drifting <= most * (1.0 + 1e-9), "{seed}, {share}: {drifting} > {most}");
                assert!(seen <= most * (1.0 + 1e-9), "{seed}, {share}: {seen} > {most}");
                near += u32::from(seen > 0.9 * most);
            }
        }
    }
    assert!(near > 0, "it is no greater than need be");
    assert_eq!(Dispersion::greatest(1_000, 1, 0.01), None);
}
