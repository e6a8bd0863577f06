//! How exactly a schedule was kept: arithmetic on stamps.

use serde::Serialize;

/// Quantiles of values, exact, by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90 % are at or below it.
    pub p90: u64,
    /// 99 % likewise.
    pub p99: u64,
    /// 99.9 % likewise.
    pub p999: u64,
    /// Largest.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation over all values.
    pub stdev: f64,
}

impl Distribution {
    /// Sorts the values and reads the quantiles off; `None` if there are none.
    ///
    /// Cost:   O(n log n), in place
    pub fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len() as f64;
        let mean = values.iter().map(|value| *value as f64).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
        let at = |per_mille: usize| values[(values.len() * per_mille).div_ceil(1000).max(1) - 1];
        Some(Self {
            count: values.len() as u64,
            min,
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max,
            mean,
            stdev: (squares / count).sqrt(),
        })
    }
}

/// How far each arrival was from the constant schedule that fits best.
///
/// The schedule's start is not known on this side. It is taken as the median of a_k − k/rate: half
/// of the arrivals may be off by any amount without moving it.
///
/// Shape:  `sorted` ascending; one error an arrival, same order
/// Units:  nanoseconds; `rate` per second, above 0
/// Source: ours; a_k is the k-th arrival, the error |a_k − (anchor + k/rate)|
pub fn schedule_errors(sorted: &[u64], rate: f64) -> Vec<u64> {
    let Some(&first) = sorted.first() else { return Vec::new() };
    let offsets: Vec<f64> = sorted
        .iter()
        .enumerate()
        .map(|(index, arrived)| (arrived - first) as f64 - index as f64 * 1e9 / rate)
        .collect();
    let mut ordered = offsets.clone();
    ordered.sort_unstable_by(f64::total_cmp);
    let anchor = ordered[(ordered.len() - 1) / 2];
    offsets.iter().map(|offset| (offset - anchor).abs().round() as u64).collect()
}

/// Times from each arrival to the next.
///
/// Shape:  `sorted` ascending; one gap fewer than arrivals
pub fn gaps(sorted: &[u64]) -> Vec<u64> {
    sorted.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Arrivals per second from the first to the last; `None` below two, or if all came at once.
pub fn started_rate(sorted: &[u64]) -> Option<f64> {
    let span_ns = sorted.last()?.checked_sub(*sorted.first()?).filter(|span| *span > 0)?;
    Some((sorted.len() - 1) as f64 * 1e9 / span_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let spread = Distribution::of((1..=1000).rev().collect()).unwrap();
        assert_eq!((spread.min, spread.max, spread.count), (1, 1000, 1000));
        assert_eq!((spread.p50, spread.p90, spread.p99, spread.p999), (500, 900, 990, 999));
        assert!((spread.mean - 500.5).abs() < 1e-9);
        assert!((spread.stdev - 288.674_990_257_210_2).abs() < 1e-6);
        assert_eq!(Distribution::of(vec![7]).unwrap().p50, 7);
        assert!(Distribution::of(vec![]).is_none());
    }

    #[test]
    fn a_kept_schedule_has_no_error() {
        let stamps: Vec<u64> = (0..1000).map(|index| 5_000_000_000 + index * 50 * US).collect();
        let errors = schedule_errors(&stamps, 20_000.0);
        assert_eq!(errors, vec![0; 1000]);
        assert!((started_rate(&stamps).unwrap() - 20_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_no_error() {
        let stamps: Vec<u64> =
            (0..100_000u64).map(|index| (index as f64 * 1e9 / 700.0).round() as u64).collect();
        assert!(schedule_errors(&stamps, 700.0).iter().all(|error| *error <= 1));
    }

    #[test]
    fn a_few_late_arrivals_do_not_move_the_anchor() {
        let mut stamps: Vec<u64> = (0..1000).map(|index| index * 1000 * US).collect();
        stamps[0] += 400 * US; // the very first, on which a naive anchor would stand
        stamps[500] += 250 * US;
        let errors = schedule_errors(&stamps, 1000.0);
        assert_eq!((errors[0], errors[1], errors[500]), (400 * US, 0, 250 * US));
        assert_eq!(errors.iter().filter(|error| **error > 0).count(), 2);
    }

    #[test]
    fn early_counts_like_late() {
        let mut stamps: Vec<u64> = (0..9).map(|index| index * 1000 * US).collect();
        stamps[3] -= 70 * US;
        assert_eq!(schedule_errors(&stamps, 1000.0)[3], 70 * US);
    }

    #[test]
    fn a_skipped_arrival_shows_as_a_whole_interval() {
        let stamps: Vec<u64> =
            (0..1001).filter(|index| *index != 800).map(|index| index * 1000 * US).collect();
        let errors = schedule_errors(&stamps, 1000.0);
        assert_eq!(
            (errors[0], errors[799], errors[800], errors[999]),
            (0, 0, 1000 * US, 1000 * US)
        );
    }

    #[test]
    fn a_wrong_rate_shows_as_drift() {
        let stamps: Vec<u64> = (0..1001).map(|index| index * 1001 * US).collect();
        let errors = schedule_errors(&stamps, 1000.0);
        assert_eq!((errors[0], errors[500], errors[1000]), (500 * US, 0, 500 * US));
    }

    #[test]
    fn gaps_and_rates_of_few_arrivals() {
        assert_eq!(gaps(&[1, 4, 4]), [3, 0]);
        assert!(gaps(&[1]).is_empty());
        assert_eq!(started_rate(&[1]), None);
        assert_eq!(started_rate(&[1, 1]), None);
        assert!(schedule_errors(&[], 1.0).is_empty());
    }
}
