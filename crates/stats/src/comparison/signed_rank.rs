//! Wilcoxon's signed-rank interval: the same question as Student's, without a normal distribution.

use crate::special::normal_quantile;

use crate::interval::Interval;

/// Beyond this many blocks the distribution of the statistic is taken for normal.
const EXACT_UP_TO: usize = 100;

/// The Hodges–Lehmann estimate: the median of all means of two, each with itself included. `None` if
/// there is nothing.
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    median(&walsh(differences))
}

/// Exact interval of the centre of a symmetric distribution; `None` for so few blocks that even their
/// extremes do not enclose it with this confidence.
///
/// Source: Tukey 1949; Hollander, Wolfe & Chicken 2014, section 3.3: the interval between the c-th
///         Walsh averages from both ends
pub fn signed_rank_interval(differences: &[f64], confidence: f64) -> Option<Interval> {
    let averages = walsh(differences);
    let rank = lower_rank(differences.len(), (1.0 - confidence) / 2.0)?;
    Some(Interval { low: averages[rank - 1], high: averages[averages.len() - rank] })
}

/// Sorted means of all pairs, each with itself included.
fn walsh(differences: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (place, one) in differences.iter().enumerate() {
        averages.extend(differences[place..].iter().map(|other| (one + other) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The middle of a sorted list.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len().checked_sub(1)? / 2;
    Some((sorted[middle] + sorted[sorted.len() / 2]) / 2.0)
}

/// Greatest c with P(T ≤ c − 1) ≤ `tail`, if there is one from 1 on.
fn lower_rank(blocks: usize, tail: f64) -> Option<usize> {
    if blocks > EXACT_UP_TO {
        let k = blocks as f64;
        let mean = k * (k + 1.0) / 4.0;
        let deviation = (k * (k + 1.0) * (2.0 * k + 1.0) / 24.0).sqrt();
        return Some((mean + normal_quantile(tail) * deviation).floor().max(1.0) as usize);
    }
    let mut below = 0.0;
    let probabilities = probabilities(blocks);
    let rank = probabilities.iter().position(|probability| {
        below += probability;
        below > tail
    });
    rank.filter(|rank| *rank > 0)
}

/// P(T = t) of the sum of the ranks with a positive sign, each of which is one half likely.
fn probabilities(blocks: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; blocks * (blocks + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=blocks {
        for sum in (0..probabilities.len()).rev() {
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = (probabilities[sum] + with) / 2.0;
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hollander & Wolfe, table 3.1: depression scale factor before and after tranquilliser, after − before.
    const DEPRESSION: [f64; 9] = [-0.952, 0.147, -1.022, -0.43, -0.62, -0.59, -0.49, 0.08, -0.01];

    #[test]
    fn the_textbook_case_has_its_estimate_and_interval() {
        assert!((hodges_lehmann(&DEPRESSION).unwrap() + 0.46).abs() < 1e-12);
        let interval = signed_rank_interval(&DEPRESSION, 0.95).unwrap();
        assert!((interval.low + 0.786).abs() < 1e-12, "{interval:?}");
        assert!((interval.high + 0.010).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Critical values of T at two-sided 5 %: 0, 2, 3, 5, 8, 10, 13; the rank is one more.
        for (blocks, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (11, 10), (12, 13)] {
            assert_eq!(lower_rank(blocks, 0.025), Some(critical + 1), "{blocks}");
        }
        assert_eq!(lower_rank(5, 0.025), None);
    }

    #[test]
    fn the_normal_form_continues_the_exact_one() {
        let exact = lower_rank(100, 0.025).unwrap() as f64 / (100.0 * 101.0);
        let normal = lower_rank(101, 0.025).unwrap() as f64 / (101.0 * 102.0);
        assert!((exact - normal).abs() < 0.002, "{exact} {normal}");
    }

    #[test]
    fn nothing_has_no_middle() {
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(signed_rank_interval(&[], 0.95), None);
    }
}
