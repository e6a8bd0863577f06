use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn filled(grouping_power: u32, values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(grouping_power);
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// Log-uniform, 1 ns to 100 s.
fn times() -> impl Strategy<Value = u64> {
    (0.0..11.0_f64).prop_map(|exponent| 10_f64.powf(exponent) as u64)
}

#[test]
fn an_empty_histogram_says_nothing() {
    let empty = Histogram::new(FINE);
    assert_eq!((empty.count(), empty.min(), empty.max(), empty.sum()), (0, 0, 0, 0));
    assert_eq!((empty.mean(), empty.stdev()), (0.0, 0.0));
    assert_eq!((empty.quantile(0.5), empty.at_rank(0), empty.at_rank(1)), (None, None, None));
    assert_eq!(empty.count_above(0), 0);
    assert_eq!(empty.buckets().count(), 0);
}

#[test]
fn moments_are_exact() {
    let histogram = filled(FINE, &[2, 4, 4, 4, 5, 5, 7, 9]);
    assert_eq!((histogram.sum(), histogram.sum_of_squares()), (40, 232));
    assert_eq!((histogram.mean(), histogram.stdev()), (5.0, 2.0));
}

#[test]
fn a_small_deviation_beside_a_great_mean_does_not_cancel() {
    let histogram = filled(FINE, &[100_000_000_001, 100_000_000_003, 100_000_000_002]);
    assert!((histogram.stdev() - (2.0_f64 / 3.0).sqrt()).abs() < 1e-12);
}

#[test]
fn a_quantile_is_the_upper_end_of_its_bucket_capped_by_the_maximum() {
    let histogram = filled(FINE, &[1_000_000, 1_000_001, 5_000_000]);
    assert_eq!(histogram.quantile(0.5), Some(1_000_447));
    assert_eq!(histogram.quantile(1.0), Some(5_000_000));
    assert_eq!(histogram.at_rank(1), Some(Bucket { low: 1_000_000, high: 1_000_447, count: 2 }));
}

#[test]
fn ninety_five_percent_of_ten_thousand_is_the_9500th() {
    let values: Vec<u64> = (1..=10_000).map(|rank| rank / 5 + 1).collect();
    assert_eq!(filled(FINE, &values).quantile(0.95), Some(values[9_499]));
}

#[test]
fn what_is_beyond_the_range_is_counted_and_never_clipped() {
    let top = 1 << RANGE_BITS;
    let histogram = filled(FINE, &[5, top - 1, top, u64::MAX]);
    assert_eq!((histogram.count(), histogram.overflow(), histogram.max()), (4, 2, u64::MAX));
    assert_eq!(histogram.quantile(0.5), Some(top - 1));
    assert_eq!(histogram.quantile(0.75), None);
    assert_eq!((histogram.count_above(5), histogram.count_above(u64::MAX)), (3, 0));
}

#[test]
fn a_bucket_that_straddles_the_bound_is_not_above_it() {
    let histogram = filled(COARSE, &[256, 257, 258, 259]);
    assert_eq!(
        (histogram.count_above(255), histogram.count_above(256), histogram.count_above(257)),
        (4, 2, 2)
    );
}

#[test]
fn clearing_leaves_nothing() {
    let mut histogram = filled(COARSE, &[1, 2, 1 << 40]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new(COARSE));
}

#[test]
fn counting_many_at_once_is_counting_each() {
    let mut histogram = Histogram::new(COARSE);
    histogram.record_n(777_777, 3);
    histogram.record_n(1, 0);
    assert_eq!(histogram, filled(COARSE, &[777_777; 3]));
}

#[test]
fn restored_buckets_have_the_counts_and_the_ends_of_their_buckets() {
    let original = filled(COARSE, &[1_000, 1_001, 70_000]);
    let mut restored = Histogram::new(COARSE);
    original.buckets().for_each(|bucket| restored.restore(&bucket));
    assert!(restored.buckets().eq(original.buckets()));
    assert_eq!((restored.min(), restored.max()), (1_000, 70_143));
    assert_eq!(restored.sum(), 2 * 1_001 + 69_887);
    for (bound, max) in [(90_000, 70_143), (70_000, 70_000), (5, 70_000)] {
        restored.tighten_max(bound);
        assert_eq!(restored.max(), max, "at most {bound}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn quantiles_err_by_less_than_a_bucket(values in vec(times(), 1..300), q in 0.0..=1.0_f64, fine: bool) {
        let power = if fine { FINE } else { COARSE };
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let truth = sorted[(quantile::rank(q, sorted.len() as u64) - 1) as usize];
        let seen = filled(power, &values).quantile(q).unwrap();
        prop_assert!(seen >= truth);
        prop_assert!((seen - truth) as f64 <= truth as f64 / f64::from(1_u32 << power), "{seen} for {truth}");
    }

    #[test]
    fn merged_shards_are_the_whole(values in vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..300), shards in 1_usize..5) {
        let mut merged = Histogram::new(FINE);
        for shard in 0..shards {
            let part: Vec<u64> = values.iter().copied().skip(shard).step_by(shards).collect();
            merged.merge(&filled(FINE, &part));
        }
        prop_assert_eq!(&merged, &filled(FINE, &values));
        prop_assert_eq!(merged.coarsened(COARSE), filled(COARSE, &values));
    }

    #[test]
    fn quantiles_do_not_decrease(values in vec(times(), 1..200), a in 0.0..=1.0_f64, b in 0.0..=1.0_f64) {
        let histogram = filled(COARSE, &values);
        prop_assert!(histogram.quantile(a.min(b)) <= histogram.quantile(a.max(b)));
    }
}

#[test]
fn a_bucket_is_between_where_its_upper_end_is() {
    let mut histogram = Histogram::new(FINE);
    // Buckets of 4 from 4,096 on: 4,096 – 4,099, 4,100 – 4,103.
    [4_096, 4_099, 4_100, 1 << RANGE_BITS].into_iter().for_each(|value| histogram.record(value));
    for (from, to, count) in [
        (4_096, 4_100, 2),
        (4_098, 4_100, 2),
        (4_098, 4_099, 0),
        (4_100, 4_104, 1),
        (0, u64::MAX, 3),
        (4_100, 0, 0),
    ] {
        assert_eq!(histogram.count_between(from, to), count, "{from} {to}");
    }
}
