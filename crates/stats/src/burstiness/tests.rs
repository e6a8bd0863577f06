use super::*;
use crate::arrivals::index_of_dispersion;
use crate::chance::Chance;

const MS: u64 = 1_000_000;

/// Counts of instants in bins of 10 ms; instants beyond the end are left out.
fn counts(instants: &[f64], bins: usize) -> Vec<u32> {
    let mut counts = vec![0; bins];
    for instant in instants {
        if let Some(count) = counts.get_mut((instant * 100.0) as usize) {
            *count += 1;
        }
    }
    counts
}

fn exponential(chance: &mut Chance, mean: f64) -> f64 {
    -mean * chance.unit().ln()
}

/// Instants of a Poisson process whose rate is `rates.0` and `rates.1` in turn, each for an exponential time of 0.5 s.
fn modulated(chance: &mut Chance, rates: (f64, f64), seconds: f64) -> Vec<f64> {
    let (mut instants, mut from, mut rates) = (Vec::new(), 0.0, rates);
    while from < seconds {
        let to = from + exponential(chance, 0.5);
        let mut at = from + exponential(chance, 1.0 / rates.0);
        while at < to {
            instants.push(at);
            at += exponential(chance, 1.0 / rates.0);
        }
        (from, rates) = (to, (rates.1, rates.0));
    }
    instants
}

#[test]
fn the_index_is_variance_over_mean_at_each_scale() {
    let before: Vec<u32> = (0..400).map(|bin| bin * 7 % 5).collect();
    let seen = changes(&before, &before, 10 * MS);
    let scales: Vec<(u64, usize)> =
        seen.iter().map(|one| (one.scale_ns / MS, one.intervals)).collect();
    assert_eq!(scales, [(10, 400), (20, 200), (50, 80), (100, 40), (200, 20)]);
    for one in &seen {
        let bins = usize::try_from(one.scale_ns / (10 * MS)).unwrap();
        let sums: Vec<u64> = before
            .chunks(bins)
            .map(|chunk| chunk.iter().map(|one| u64::from(*one)).sum())
            .collect();
        let known = index_of_dispersion(&sums).unwrap();
        assert!((one.before - known).abs() < 1e-9, "{one:?}: {known}");
        assert_eq!((one.after, one.change), (one.before, 0.0));
        assert_eq!((one.interval.low, one.interval.high), (0.0, 0.0), "the same series");
    }
    let coarse = changes(&before, &before, 20 * MS);
    let scales: Vec<u64> = coarse.iter().map(|one| one.scale_ns / MS).collect();
    assert_eq!(scales, [20, 100, 200], "50 ms is no multiple of 20 ms");
    assert!(changes(&before[..19], &before[..19], 10 * MS).is_empty());
    let none = changes(&[0; 40], &[0; 40], 10 * MS);
    assert!(none.iter().all(|one| (one.before, one.after, one.change) == (0.0, 0.0, 0.0)));
}

#[test]
fn a_flattened_series_is_beyond_every_margin_and_its_reverse_too() {
    let chance = &mut Chance::new(1);
    let instants = modulated(chance, (20.0, 180.0), 60.0);
    let even = (0..instants.len()).map(|one| one as f64 * 60.0 / instants.len() as f64);
    let (before, after) = (counts(&instants, 6_000), counts(&even.collect::<Vec<_>>(), 6_000));
    for one in changes(&before, &after, 10 * MS) {
        assert!(one.interval.is_beyond(0.1) && one.change < 0.0, "{one:?}");
    }
    for one in changes(&after, &before, 10 * MS) {
        assert!(one.interval.is_beyond(0.1) && one.change > 0.0, "{one:?}");
    }
}

/// Instants moved independently stay those of a Poisson process, so its true change is 0 however far they move.
#[test]
fn the_intervals_of_all_scales_hold_the_true_change_in_95_of_100_runs() {
    let chance = &mut Chance::new(2);
    let runs = 300;
    let mut held = 0;
    for _ in 0..runs {
        let instants = modulated(chance, (100.0, 100.0), 30.0);
        let moved: Vec<f64> = instants.iter().map(|at| at + exponential(chance, 0.005)).collect();
        let seen = changes(&counts(&instants, 3_000), &counts(&moved, 3_000), 10 * MS);
        let holds = |one: &ScaleChange| one.interval.low <= 0.0 && one.interval.high >= 0.0;
        held += u32::from(seen.iter().all(holds));
    }
    // 95 % of 300, less 3 standard deviations.
    assert!(held >= 274, "{held} of {runs}");
}

#[test]
fn a_replay_that_is_a_millisecond_late_is_hardly_ever_beyond_a_tenth() {
    let chance = &mut Chance::new(3);
    let (mut within, mut beyond, mut all) = (0, 0, 0);
    for run in 0..100 {
        let rates = if run % 2 == 0 { (100.0, 100.0) } else { (20.0, 180.0) };
        let instants = modulated(chance, rates, 60.0);
        let late: Vec<f64> = instants.iter().map(|at| at + exponential(chance, 0.001)).collect();
        for one in changes(&counts(&instants, 6_000), &counts(&late, 6_000), 10 * MS) {
            all += 1;
            within += u32::from(one.interval.is_within(0.1));
            beyond += u32::from(one.interval.is_beyond(0.1));
        }
    }
    assert_eq!(beyond, 0, "of {all}");
    assert!(within * 10 >= all * 9, "{within} of {all}");
}
