use super::*;

const QS: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

#[test]
fn ranks_are_nearest_ranks_in_spite_of_binary_fractions() {
    let known = [
        (0.95, 10_000, 9_500),
        (0.07, 100, 7),
        (0.99, 1_000, 990),
        (0.999, 10, 10),
        (0.5, 5, 3),
        (0.5, 4, 2),
    ];
    for (q, n, expected) in known {
        assert_eq!(rank(q, n), expected, "{q} of {n}");
    }
    assert_eq!((rank(0.0, 5), rank(1.0, 5), rank(0.5, 0)), (1, 5, 0));
    for n in 1..2_000 {
        for percent in 1..100 {
            assert_eq!(
                rank(f64::from(percent) / 100.0, n),
                (n * percent as u64).div_ceil(100),
                "{percent} % of {n}"
            );
        }
    }
}

#[test]
fn the_median_of_twenty_lies_between_the_6th_and_the_15th() {
    assert_eq!(independent_ranks(0.5, 20, 0.95), Ranks { low: Some(6), high: Some(15) });
}

/// Ranks for each of `QS`, as far as the sample is large enough to speak of them.
type Row = &'static [(u64, Option<u64>)];

/// Order-statistic intervals at 95 %; `None` above means that no value of the sample is an upper bound.
#[test]
fn intervals_are_the_exact_binomial_ones() {
    let table: [(u64, Row); 5] = [
        (100, &[(40, Some(61)), (84, Some(96)), (97, None), (99, None)]),
        (1_000, &[(469, Some(532)), (881, Some(919)), (983, Some(997)), (997, None)]),
        (
            10_000,
            &[
                (4_902, Some(5_099)),
                (8_941, Some(9_059)),
                (9_880, Some(9_920)),
                (9_983, Some(9_997)),
                (9_997, None),
            ],
        ),
        (
            100_000,
            &[
                (49_690, Some(50_311)),
                (89_814, Some(90_187)),
                (98_938, Some(99_062)),
                (99_880, Some(99_920)),
                (99_983, Some(99_997)),
            ],
        ),
        (
            1_000_000,
            &[
                (499_020, Some(500_981)),
                (899_412, Some(900_589)),
                (989_805, Some(990_196)),
                (998_938, Some(999_062)),
                (999_880, Some(999_920)),
            ],
        ),
    ];
    for (n, row) in table {
        for (q, &(low, high)) in QS.iter().zip(row) {
            assert_eq!(
                independent_ranks(*q, n, 0.95),
                Ranks { low: Some(low), high },
                "{q} of {n}"
            );
        }
    }
}

#[test]
fn the_normal_form_continues_the_exact_one() {
    let (n, q) = (39_000_000_000, 0.5);
    let exact = independent_ranks(q, n, 0.95);
    let normal = normal_ranks(q, n, normal_quantile(0.975) * (n as f64 * q * q).sqrt());
    assert!(exact.low.unwrap().abs_diff(normal.low.unwrap()) <= 1);
    assert!(exact.high.unwrap().abs_diff(normal.high.unwrap()) <= 1);
}

/// ⌈log(0.025)/log(q)⌉ values: their maximum bounds the quantile from above.
#[test]
fn the_smallest_samples_are_those_of_the_closed_form() {
    let known = [(0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)];
    for (q, fewest) in known {
        assert!(independent_ranks(q, fewest, 0.95).high.is_some(), "{q}");
        assert!(independent_ranks(q, fewest - 1, 0.95).high.is_none(), "{q}");
    }
}

#[test]
fn dispersion_widens_by_its_root() {
    let dispersion = Dispersion { phi: 9.0, windows: 60, blocks: 60 };
    let estimate = Estimate::new(0.9, 10_000, &dispersion);
    // √(10,000·0.9·0.1·9) = 90; t₅₉ = 2.001.
    assert_eq!(estimate.interval, Ranks { low: Some(8_819), high: Some(9_182) });
    assert_eq!(estimate.rank, 9_000);
    assert!((estimate.support - 1_000.0 / 9.0).abs() < 1e-9);
}

#[test]
fn an_interval_is_never_narrower_than_for_independent_values() {
    let estimate =
        Estimate::new(0.99, 1_000, &Dispersion { phi: 1.001, windows: 10_000, blocks: 10_000 });
    let exact = independent_ranks(0.99, 1_000, 0.95);
    assert!(estimate.interval.low <= exact.low);
    assert!(estimate.interval.high.is_none_or(|high| high >= exact.high.unwrap()));
}

#[test]
fn windows_without_dispersion_leave_the_independent_interval_if_they_are_many() {
    let exact = independent_ranks(0.9, 10_000, CONFIDENCE);
    let with = |windows| Estimate::new(0.9, 10_000, &Dispersion::independent(windows)).interval;
    assert_eq!(with(16), exact);
    // Four windows say little: t₃ = 3.182, √(10,000·0.9·0.1) = 30.
    assert_eq!(with(4), Ranks { low: Some(8_904), high: Some(9_097) });
}

#[test]
fn grades_follow_effective_tail_events_and_windows() {
    let check = |n, phi, windows, expected| {
        let dispersion = Dispersion { phi, windows, blocks: windows };
        assert_eq!(Estimate::new(0.99, n, &dispersion).grade, expected, "{n} {phi} {windows}");
    };
    check(1_000, 1.0, 60, Grade::Supported);
    check(999, 1.0, 60, Grade::Indicative);
    check(1_000, 1.0, 15, Grade::Indicative);
    check(300, 1.0, 60, Grade::Indicative);
    check(299, 1.0, 60, Grade::Refused);
    check(10_000, 260.0, 100, Grade::Refused);
}

#[test]
fn what_would_support_a_quantile_grows_with_dispersion() {
    let check = |q, phi, expected| {
        assert_eq!(Estimate::needed(q, &Dispersion { phi, windows: 60, blocks: 60 }), expected)
    };
    check(0.99, 1.0, 1_000);
    check(0.999, 8.0, 80_000);
    check(0.5, 1.0, 20);
}

#[test]
fn an_empty_sample_has_no_interval() {
    let estimate = Estimate::new(0.5, 0, &Dispersion::independent(0));
    assert_eq!((estimate.rank, estimate.interval), (0, Ranks { low: None, high: None }));
    assert_eq!(estimate.grade, Grade::Refused);
}
