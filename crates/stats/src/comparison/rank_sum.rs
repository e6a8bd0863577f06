//! Trials without blocks: Mann & Whitney's test, and the shift that goes with it.

use std::cmp::Ordering;

use crate::special::{normal_cdf, normal_quantile};

use super::difference::Difference;
use super::signed_rank::median;
use crate::interval::Interval;

/// Trials of a side up to which the distribution of the statistic is exact.
const EXACT_UP_TO: usize = 50;

/// What Mann & Whitney's test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Two-sided p-value.
    pub p: f64,
    /// Chance that a trial of the candidate has a larger value than one of the baseline, ties by halves.
    pub superiority: f64,
    /// Whether the p-value is exact: at most 50 trials a side, none equal.
    pub exact: bool,
}

/// Tests two sets of trials; `None` if one is empty.
///
/// Source: Mann & Whitney 1947; otherwise normal, with corrections for ties and continuity
pub fn rank_sum(baseline: &[f64], candidate: &[f64]) -> Option<RankSum> {
    let (n, m) = (baseline.len(), candidate.len());
    if n == 0 || m == 0 {
        return None;
    }
    let (u, tied) = statistic(baseline, candidate);
    let pairs = (n * m) as f64;
    let exact = !tied && n <= EXACT_UP_TO && m <= EXACT_UP_TO;
    let p = if exact { exact_p(u, n, m) } else { normal_p(u, baseline, candidate) };
    Some(RankSum { p, superiority: u / pairs, exact })
}

/// The shift between two sets of trials: the median of all differences between one of each, its interval
/// and the p-value of [`rank_sum`].
///
/// Source: Hodges & Lehmann 1963; interval after Moses 1953
pub fn unpaired(baseline: &[f64], candidate: &[f64]) -> Option<Difference> {
    let p = rank_sum(baseline, candidate)?.p;
    let differences = |one: &f64| baseline.iter().map(move |other| one - other).collect::<Vec<_>>();
    let mut shifts: Vec<f64> = candidate.iter().flat_map(differences).collect();
    shifts.sort_by(f64::total_cmp);
    let interval = |confidence: f64| {
        let rank = lower_rank(baseline.len(), candidate.len(), (1.0 - confidence) / 2.0)?;
        Some(Interval { low: shifts[rank - 1], high: shifts[shifts.len() - rank] })
    };
    Some(Difference {
        estimate: median(&shifts)?,
        interval: interval(0.95),
        inner: interval(0.90),
        p,
    })
}

/// The smallest p-value that so many trials on each side can give: 2/C(2n, n).
pub fn smallest_p(trials: usize) -> f64 {
    (1..=trials).fold(2.0, |p, i| p * i as f64 / (trials + i) as f64)
}

/// U: pairs in which the candidate is the larger, ties by halves; and whether any two values are equal.
fn statistic(baseline: &[f64], candidate: &[f64]) -> (f64, bool) {
    let mut all: Vec<f64> = baseline.iter().chain(candidate).copied().collect();
    all.sort_by(f64::total_cmp);
    let tied = all.windows(2).any(|two| two[0] == two[1]);
    let mut sorted = baseline.to_vec();
    sorted.sort_by(f64::total_cmp);
    let won = |one: &f64| {
        let below = sorted.partition_point(|other| other.total_cmp(one) == Ordering::Less);
        let up_to = sorted.partition_point(|other| other.total_cmp(one) != Ordering::Greater);
        (below + up_to) as f64 / 2.0
    };
    (candidate.iter().map(won).sum(), tied)
}

fn exact_p(u: f64, n: usize, m: usize) -> f64 {
    let nearer = u.min((n * m) as f64 - u) as usize;
    let tail: f64 = probabilities(n, m)[..=nearer].iter().sum();
    (2.0 * tail).min(1.0)
}

/// P(U = u) where both sets are alike: by the place of the largest value of all.
fn probabilities(n: usize, m: usize) -> Vec<f64> {
    // `row[j]` holds the counts for i values of one side and j of the other, from i = 0 on.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        row[0] = vec![1.0];
        for j in 1..=m {
            let mut counts = vec![0.0; i * j + 1];
            // The largest is of the first side and beats all j of the second, or is of the second.
            row[j].iter().enumerate().for_each(|(u, count)| counts[u + j] += count);
            row[j - 1].iter().enumerate().for_each(|(u, count)| counts[u] += count);
            row[j] = counts;
        }
    }
    let counts = row.pop().unwrap_or_default();
    let all: f64 = counts.iter().sum();
    counts.into_iter().map(|count| count / all).collect()
}

fn normal_p(u: f64, baseline: &[f64], candidate: &[f64]) -> f64 {
    let (n, m) = (baseline.len() as f64, candidate.len() as f64);
    let mut all: Vec<f64> = baseline.iter().chain(candidate).copied().collect();
    all.sort_by(f64::total_cmp);
    let cubes = |tied: &[f64]| (tied.len() as f64).powi(3) - tied.len() as f64;
    let ties: f64 = all.chunk_by(|one, other| one == other).map(cubes).sum();
    let count = n + m;
    let variance = n * m / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    let far = (u - n * m / 2.0).abs() - 0.5;
    if far <= 0.0 || variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_cdf(-far / variance.sqrt())).min(1.0)
}

/// Greatest c with P(U ≤ c − 1) ≤ `tail`, if there is one from 1 on.
fn lower_rank(n: usize, m: usize, tail: f64) -> Option<usize> {
    if n > EXACT_UP_TO || m > EXACT_UP_TO {
        let (n, m) = (n as f64, m as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        return Some((n * m / 2.0 + normal_quantile(tail) * deviation).floor().max(1.0) as usize);
    }
    let mut below = 0.0;
    let rank = probabilities(n, m).iter().position(|probability| {
        below += probability;
        below > tail
    });
    rank.filter(|rank| *rank > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: f64, known: f64, within: f64) {
        assert!((seen - known).abs() < within, "{seen} is not {known}");
    }

    #[test]
    fn three_and_three_that_do_not_overlap() {
        let seen = rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        near(seen.p, 0.1, 1e-12);
        assert_eq!((seen.superiority, seen.exact), (1.0, true));
        assert_eq!(unpaired(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap().interval, None);
    }

    #[test]
    fn smallest_values_are_those_of_the_table() {
        for (trials, known) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (6, 2.0 / 924.0)] {
            near(smallest_p(trials), known, 1e-12);
            let low: Vec<f64> = (0..trials).map(|one| one as f64).collect();
            let high: Vec<f64> = low.iter().map(|one| one + 100.0).collect();
            near(rank_sum(&low, &high).unwrap().p, known, 1e-12);
        }
        near(smallest_p(4), 0.029, 5e-4);
        near(smallest_p(5), 0.0079, 5e-5);
        near(smallest_p(6), 0.0022, 5e-5);
    }

    /// Hollander & Wolfe, table 4.1: permeability of chorioamnion at term and at 12–26 weeks.
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_textbook_case_has_its_values() {
        near(rank_sum(&EARLY, &TERM).unwrap().p, 0.2544, 5e-5);
        let seen = unpaired(&EARLY, &TERM).unwrap();
        near(seen.estimate, 0.305, 1e-9);
        let interval = seen.interval.unwrap();
        near(interval.low, -0.15, 1e-9);
        near(interval.high, 0.76, 1e-9);
    }

    #[test]
    fn ties_take_the_normal_form() {
        let seen = rank_sum(&[1.0, 2.0, 2.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!(!seen.exact);
        near(seen.superiority, 8.0 / 9.0, 1e-12);
        // Three equal values: 9/12·(7 − 24/30) = 4.65; far = |8 − 4.5| − 0.5 = 3.
        near(seen.p, 2.0 * normal_cdf(-3.0 / 4.65_f64.sqrt()), 1e-12);
        assert_eq!(rank_sum(&[1.0; 5], &[1.0; 5]).unwrap().p, 1.0);
    }

    #[test]
    fn the_normal_form_continues_the_exact_one() {
        let low: Vec<f64> = (0..50).map(f64::from).collect();
        let high: Vec<f64> = low.iter().map(|one| one + 10.5).collect();
        let exact = rank_sum(&low, &high).unwrap();
        assert!(exact.exact);
        near(normal_p(exact.superiority * 2_500.0, &low, &high), exact.p, 0.002);
    }

    #[test]
    fn nothing_is_not_compared() {
        assert_eq!(rank_sum(&[], &[1.0]), None);
        assert_eq!(unpaired(&[1.0], &[]), None);
    }
}
