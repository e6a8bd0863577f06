//! Blocks: each holds both arms, close together in time, so that what they share cancels.

use crate::moments::moments;
use crate::special::student_quantile;

use super::difference::Difference;
use super::sign_flip::sign_flip;
use super::signed_rank::{hodges_lehmann, signed_rank_interval};
use crate::interval::Interval;

/// From this ratio of their widths on, the wider of two intervals stands.
const UNLIKE: f64 = 1.25;
/// Blocks from which there is an interval: fewer do not show how far they spread.
pub(super) const INTERVAL_FROM: usize = 5;
/// Of the interval that is shown.
const CONFIDENCE: f64 = 0.95;
/// Of the interval that shows equivalence at 5 %.
const INNER: f64 = 0.90;

/// What blocks say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// Mean difference, its intervals and p-value.
    pub difference: Difference,
    /// Hodges–Lehmann estimate, which one strange block hardly moves.
    pub robust: f64,
    /// Standard deviation of the differences between blocks; `None` for a single block.
    pub spread: Option<f64>,
}

/// The difference between two arms, from one difference for each block.
///
/// The p-value is that of the sign-flip test. The interval is Student's, unless Wilcoxon's is unlike it
/// by more than a quarter: then the wider stands, because one of the two rests on something that does
/// not hold.
///
/// Shape: finite differences; `None` for none
pub fn paired(differences: &[f64], seed: u64) -> Option<Paired> {
    let (mean, spread) = moments(differences)?;
    let difference = Difference {
        estimate: mean,
        interval: interval(differences, CONFIDENCE),
        inner: interval(differences, INNER),
        p: sign_flip(differences, seed),
    };
    Some(Paired { difference, robust: hodges_lehmann(differences)?, spread })
}

/// The two intervals of which one stands. Which, is decided once, at 95 %, so that a narrower one of
/// lower confidence lies within.
fn interval(differences: &[f64], confidence: f64) -> Option<Interval> {
    if differences.len() < INTERVAL_FROM {
        return None;
    }
    let wilcoxon = signed_rank_interval(differences, CONFIDENCE);
    let student = student_interval(differences, CONFIDENCE)?;
    match wilcoxon {
        Some(wilcoxon) if wilcoxon.width() > UNLIKE * student.width() => {
            signed_rank_interval(differences, confidence)
        }
        _ => student_interval(differences, confidence),
    }
}

fn student_interval(differences: &[f64], confidence: f64) -> Option<Interval> {
    let (mean, spread) = moments(differences)?;
    let count = differences.len() as f64;
    let t = student_quantile(count - 1.0, 1.0 - (1.0 - confidence) / 2.0);
    Some(Interval::around(mean, t * spread? / count.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_interval_is_that_of_a_hand_worked_case() {
        // Mean 3, deviation √2.5, t(4, 0.975) = 2.776445.
        let seen = paired(&[1.0, 2.0, 3.0, 4.0, 5.0], 0).unwrap();
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        let interval = seen.difference.interval.unwrap();
        assert!((interval.low - (3.0 - half)).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - (3.0 + half)).abs() < 1e-5, "{interval:?}");
        assert_eq!((seen.difference.estimate, seen.robust), (3.0, 3.0));
        assert_eq!(seen.difference.p, 2.0 / 32.0);
        let inner = seen.difference.inner.unwrap();
        assert!(inner.width() < interval.width());
    }

    #[test]
    fn the_wider_interval_stands_where_the_two_are_unlike() {
        // One strange block of many widens Student's.
        let mut strange: Vec<f64> = (0..20).map(|one| f64::from(one % 5) / 100.0).collect();
        strange[7] = 3.0;
        let (student, wilcoxon) = both(&strange);
        assert!(student.width() > UNLIKE * wilcoxon.width());
        assert_eq!(interval(&strange, 0.95), Some(student));
        // Of six blocks Wilcoxon's interval is the whole range.
        let range = [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let (student, wilcoxon) = both(&range);
        assert!(wilcoxon.width() > UNLIKE * student.width());
        assert_eq!(interval(&range, 0.95), Some(wilcoxon));
        assert_eq!(interval(&range, 0.90), signed_rank_interval(&range, 0.90));
    }

    fn both(differences: &[f64]) -> (Interval, Interval) {
        let student = student_interval(differences, 0.95).unwrap();
        (student, signed_rank_interval(differences, 0.95).unwrap())
    }

    #[test]
    fn few_blocks_have_no_interval_and_none_has_nothing() {
        let four = paired(&[0.1, 0.1, 0.1, 0.1001], 0).unwrap().difference;
        assert_eq!((four.interval, four.inner, four.p), (None, None, 0.125));
        let one = paired(&[0.1], 0).unwrap();
        assert_eq!((one.difference.interval, one.spread, one.difference.p), (None, None, 1.0));
        assert_eq!(paired(&[], 0), None);
    }

    #[test]
    fn equal_blocks_have_an_interval_without_width() {
        let seen = paired(&[0.0; 6], 0).unwrap();
        assert_eq!(seen.difference.interval, Some(Interval { low: 0.0, high: 0.0 }));
        assert_eq!(seen.difference.p, 1.0);
    }
}
