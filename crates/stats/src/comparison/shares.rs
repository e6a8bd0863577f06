//! Shares of failed operations. Failures come in bursts, so a sample is worth fewer than it counts.

use crate::dispersion::{Dispersion, WindowCount};
use crate::proportion::wilson;

use super::difference::Difference;
use crate::interval::Interval;

/// Probabilities as near as this are the same.
const SAME: f64 = 1e-7;

/// Trials a side from which a difference is decided. Of fewer the dispersion is so little known that equal
/// sides differ too often: of 10,000 simulated pairs 929 with two and 561 with three, but 391 with four.
const FEWEST: usize = 4;

/// Some of many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Those that count, such as failed operations.
    pub x: f64,
    /// All.
    pub n: f64,
}

impl Share {
    /// The share itself, in [0, 1]; 0 of nothing.
    pub fn value(&self) -> f64 {
        if self.n > 0.0 { self.x / self.n } else { 0.0 }
    }

    fn deflated(&self, phi: f64) -> Self {
        Self { x: self.x / phi, n: self.n / phi }
    }
}

/// The difference between two shares, candidate less baseline, from the counts of each trial.
///
/// Counts are divided by φ, by which those of trials vary more than independent failures would: what
/// makes a hundred operations of one trial fail together is one event.
///
/// Below four trials a side there is no interval, and the p-value is 1. `None` if a side has no operations,
/// or only one trial, whose distance from others is unknown.
///
/// Source: Fisher's exact test, two-sided; interval of Newcombe 1998, method 10
pub fn difference_of_shares(
    baseline: &[WindowCount],
    candidate: &[WindowCount],
) -> Option<Difference> {
    let fewest = baseline.len().min(candidate.len());
    let seen = regardless_of_few(baseline, candidate).filter(|_| fewest > 1)?;
    let unknown = Difference { interval: None, inner: None, p: 1.0, ..seen };
    Some(if fewest < FEWEST { unknown } else { seen })
}

/// The same with interval and p-value for any number of trials.
fn regardless_of_few(baseline: &[WindowCount], candidate: &[WindowCount]) -> Option<Difference> {
    let phi = Dispersion::of(baseline).phi.max(Dispersion::of(candidate).phi);
    let of = |counts: &[WindowCount]| {
        let sum = |part: fn(&WindowCount) -> u32| {
            counts.iter().map(|count| f64::from(part(count))).sum::<f64>()
        };
        Share { x: sum(|count| count.above), n: sum(|count| count.total) }.deflated(phi)
    };
    let (baseline, candidate) = (of(baseline), of(candidate));
    (baseline.n >= 1.0 && candidate.n >= 1.0).then(|| Difference {
        estimate: candidate.value() - baseline.value(),
        interval: Some(newcombe(candidate, baseline, 0.95)),
        inner: Some(newcombe(candidate, baseline, 0.90)),
        p: fisher(baseline, candidate),
    })
}

/// Two-sided p-value of equal shares; counts are rounded.
pub fn fisher(one: Share, other: Share) -> f64 {
    let [x, n, y, m] = [one.x, one.n, other.x, other.n].map(|count| count.round() as u64);
    let marked = x + y;
    let (low, high) = (marked.saturating_sub(m), marked.min(n));
    // Of the first share, relative to the likeliest; each from its neighbour.
    let up = |k: u64| {
        (n - k) as f64 * (marked - k) as f64 / ((k + 1) as f64 * (m + k + 1 - marked) as f64)
    };
    let mode = ((n + 1) as f64 * (marked + 1) as f64 / (n + m + 2) as f64) as u64;
    let terms = terms(mode.clamp(low, high), (low, high), up);
    let all: f64 = terms.iter().map(|(_, term)| term).sum();
    let seen = terms.iter().find(|(k, _)| *k == x).map_or(0.0, |(_, term)| *term);
    let as_rare = terms.iter().map(|(_, term)| *term).filter(|term| *term <= seen * (1.0 + SAME));
    as_rare.sum::<f64>() / all
}

/// Terms by their ratios from the mode outwards, while they are above 1e-20 of the greatest.
fn terms(mode: u64, (low, high): (u64, u64), up: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
    const NEGLIGIBLE: f64 = 1e-20;
    let mut terms = vec![(mode, 1.0)];
    let (mut k, mut term) = (mode, 1.0);
    while k < high && term > NEGLIGIBLE {
        term *= up(k);
        k += 1;
        terms.push((k, term));
    }
    (k, term) = (mode, 1.0);
    while k > low && term > NEGLIGIBLE {
        k -= 1;
        term /= up(k);
        terms.push((k, term));
    }
    terms
}

/// Interval of the difference of two shares, the first less the second.
///
/// Source: Newcombe 1998, method 10: from Wilson's limits of each
pub fn newcombe(one: Share, other: Share, confidence: f64) -> Interval {
    let limits = |share: Share| wilson(share.x, share.n, confidence);
    let (first, second) = (limits(one), limits(other));
    let (p, q) = (one.value(), other.value());
    Interval {
        low: p - q - (p - first.low).hypot(second.high - q),
        high: p - q + (first.high - p).hypot(q - second.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    fn share(x: u32, n: u32) -> Share {
        Share { x: f64::from(x), n: f64::from(n) }
    }

    fn near(seen: f64, known: f64, within: f64) {
        assert!((seen - known).abs() < within, "{seen} is not {known}");
    }

    #[test]
    fn fishers_values_are_those_of_the_tables() {
        near(fisher(share(0, 1_000), share(5, 1_000)), 0.062, 5e-4);
        near(fisher(share(0, 1_000), share(6, 1_000)), 0.031, 5e-4);
        // The lady who tasted tea: 34 of 70.
        near(fisher(share(3, 4), share(1, 4)), 34.0 / 70.0, 1e-12);
        assert_eq!(fisher(share(0, 100), share(0, 200)), 1.0);
        assert!(fisher(share(0, 1_000_000), share(1_000_000, 1_000_000)) < 1e-19);
    }

    #[test]
    fn newcombes_intervals_are_those_of_his_paper() {
        for (one, other, low, high) in [
            (share(56, 70), share(48, 80), 0.0524, 0.3339),
            (share(9, 10), share(3, 10), 0.1705, 0.8090),
            (share(5, 56), share(0, 29), -0.0381, 0.1926),
            (share(10, 10), share(0, 10), 0.6075, 1.0000),
        ] {
            let seen = newcombe(one, other, 0.95);
            near(seen.low, low, 6e-5);
            near(seen.high, high, 6e-5);
        }
    }

    fn trials(failed: &[u32]) -> Vec<WindowCount> {
        failed.iter().map(|&above| WindowCount { total: 1_000, above }).collect()
    }

    #[test]
    fn steady_failures_differ_where_a_burst_of_as_many_does_not() {
        let none = trials(&[0; 10]);
        let steady = difference_of_shares(&none, &trials(&[4, 5, 5, 4, 5, 4, 5, 5, 4, 5])).unwrap();
        assert!(steady.p < 1e-6, "{steady:?}");
        assert!(steady.interval.unwrap().low > 0.0);
        near(steady.estimate, 0.0046, 1e-12);
        let mut burst = vec![0; 10];
        burst[3] = 46;
        let burst = difference_of_shares(&none, &trials(&burst)).unwrap();
        near(burst.estimate, 0.0046, 1e-12);
        assert!(burst.p > 0.3, "{burst:?}");
        assert!(burst.interval.unwrap().low < 0.0);
    }

    #[test]
    fn zero_seen_is_not_zero() {
        let seen = difference_of_shares(&trials(&[0; 4]), &trials(&[0; 4])).unwrap();
        assert_eq!((seen.estimate, seen.p), (0.0, 1.0));
        // Wilson's limit for 0 of 4,000 is z²/(n + z²).
        near(seen.interval.unwrap().high, 3.8415 / 4_003.841_5, 1e-6);
    }

    #[test]
    fn one_trial_says_nothing_of_others() {
        assert_eq!(difference_of_shares(&trials(&[0]), &trials(&[40])), None);
        let empty = [WindowCount::default(); 3];
        assert_eq!(difference_of_shares(&empty, &trials(&[1, 2])), None);
    }

    /// Failures of a trial, of 1,000 operations; each trial has a share of its own, from 0 to 2 %.
    fn drawn(chance: &mut Chance, count: usize) -> Vec<WindowCount> {
        let one = |_| {
            let share = chance.below(21);
            (0..1_000).filter(|_| chance.below(1_000) < share).count() as u32
        };
        trials(&(0..count).map(one).collect::<Vec<_>>())
    }

    /// How many of so many pairs of equal sides differ, with so many trials each. The short form has 400 pairs, of
    /// which a twentieth are 20, and 2.5 standard deviations more 31.
    #[test]
    fn equal_sides_seldom_differ_from_four_trials_on() {
        let proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
        let (pairs, most) = if proof { (10_000, 500) } else { (400, 31) };
        for count in [2, 3, 4, 6, 10] {
            let mut chance = Chance::new(11);
            let differs = |_: &usize| {
                let (one, other) = (drawn(&mut chance, count), drawn(&mut chance, count));
                regardless_of_few(&one, &other).unwrap().p < 0.05
            };
            let seen = (0..pairs).filter(differs).count();
            println!("failures, equal sides of {count} trials: {seen} of {pairs} differ");
            if proof || count >= FEWEST {
                assert_eq!(seen <= most, count >= FEWEST, "{seen} of {pairs}, {count} trials");
            }
        }
    }

    #[test]
    fn below_four_trials_nothing_is_decided() {
        let apart = difference_of_shares(&trials(&[0; 3]), &trials(&[90; 3])).unwrap();
        assert_eq!((apart.interval, apart.inner, apart.p), (None, None, 1.0));
        near(apart.estimate, 0.09, 1e-12);
    }
}
