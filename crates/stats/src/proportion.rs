//! Bounds of a share: of failed operations, of operations slower than a limit.
//!
//! Counts are real numbers, because n dependent operations are worth n/φ independent ones.

use crate::interval::Interval;
use crate::special::{beta_quantile, incomplete_beta, normal_quantile};

/// Which side of a limit a share lies on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LimitSide {
    /// Its upper bound is below the limit.
    Below,
    /// Its lower bound is above the limit.
    Above,
    /// The sample cannot tell. `factor`: how many times as long a run with the same share would;
    /// `None` when none within a factor of 10,000 does.
    Undecided {
        /// Multiple of this run's length.
        factor: Option<f64>,
    },
}

/// One-sided upper bound of a share of which `x` in `n` were seen.
///
/// Shape:  0 ≤ x ≤ n, n > 0, both may be fractions; `confidence` in (0, 1)
/// Source: Clopper & Pearson 1934, by quantiles of the beta distribution
pub fn upper_bound(x: f64, n: f64, confidence: f64) -> f64 {
    if x >= n { 1.0 } else { beta_quantile(x + 1.0, n - x, confidence) }
}

/// One-sided lower bound; see [`upper_bound`].
pub fn lower_bound(x: f64, n: f64, confidence: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { beta_quantile(x, n - x + 1.0, 1.0 - confidence) }
}

/// Wilson's score interval: narrower on average, for display.
///
/// Source: Wilson 1927; Brown, Cai & DasGupta 2001, section 3.1.1
pub fn wilson(x: f64, n: f64, confidence: f64) -> Interval {
    let z = normal_quantile(1.0 - (1.0 - confidence) / 2.0);
    let (share, z2) = (x / n, z * z);
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Interval { low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

/// Upper 95 % bound of a share of which none was seen in `n`: the rule of three.
pub fn rule_of_three(n: f64) -> f64 {
    (3.0 / n).min(1.0)
}

/// On which side of `limit` the share lies of which `x` in `n` were seen, with dispersion `phi`.
///
/// Shape:  0 ≤ x ≤ n; `limit` in (0, 1); phi ≥ 1; an empty sample is undecided
pub fn judge(x: u64, n: u64, phi: f64, limit: f64, confidence: f64) -> LimitSide {
    let (x, n) = (x as f64 / phi, n as f64 / phi);
    match decide(x, n, limit, confidence) {
        Some(side) => side,
        None => LimitSide::Undecided {
            factor: deciding_factor(|factor| {
                decide(x * factor, n * factor, limit, confidence).is_some()
            }),
        },
    }
}

/// The side of `limit`, if `x` in `n` independent ones show one.
pub(crate) fn decide(x: f64, n: f64, limit: f64, confidence: f64) -> Option<LimitSide> {
    if n <= 0.0 {
        None
    } else if upper_bound(x, n, confidence) < limit {
        Some(LimitSide::Below)
    } else if lower_bound(x, n, confidence) > limit {
        Some(LimitSide::Above)
    } else {
        None
    }
}

/// Bisects the multiple of the length that decides; a longer run of the same share decides whenever a shorter does.
pub(crate) fn deciding_factor(decides: impl Fn(f64) -> bool) -> Option<f64> {
    const LONGEST: f64 = 10_000.0;
    const ENOUGH: f64 = 1.01;
    let (mut low, mut high) = (1.0, 2.0);
    while !decides(high) {
        (low, high) = (high, high * 2.0);
        if low > LONGEST {
            return None;
        }
    }
    while high / low > ENOUGH {
        let middle = f64::sqrt(low * high);
        if decides(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Least n with which `slow` operations beyond the limit still show a share below `limit`.
///
/// Source: the early-stopping rule of MLPerf LoadGen, whose published values are 459, 662 and 64
pub fn smallest_passing(slow: u64, limit: f64, confidence: f64) -> u64 {
    let slow = slow as f64;
    // P(X ≤ slow) for X ~ Bin(n, limit); falls as n grows.
    let likely =
        |n: u64| 1.0 - incomplete_beta(slow + 1.0, n as f64 - slow, limit) > 1.0 - confidence;
    let (mut low, mut high) = (slow as u64, slow as u64 + 1);
    while likely(high) {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if likely(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: f64, known: f64) {
        assert!((seen - known).abs() < 5e-6, "{seen} is not {known}");
    }

    #[test]
    fn bounds_are_those_of_the_closed_forms() {
        near(upper_bound(0.0, 10.0, 0.95), 1.0 - 0.05_f64.powf(0.1));
        near(lower_bound(10.0, 10.0, 0.95), 0.05_f64.powf(0.1));
        assert_eq!((lower_bound(0.0, 10.0, 0.95), upper_bound(10.0, 10.0, 0.95)), (0.0, 1.0));
    }

    #[test]
    fn five_of_fifty_has_the_interval_of_the_tables() {
        near(lower_bound(5.0, 50.0, 0.975), 0.03328);
        near(upper_bound(5.0, 50.0, 0.975), 0.21814);
        let score = wilson(5.0, 50.0, 0.95);
        near(score.low, 0.04348);
        near(score.high, 0.21360);
    }

    #[test]
    fn rare_failures_of_a_thousand_have_the_intervals_of_the_closed_forms() {
        // None: 1 − 0.05^(1/n) one-sided, 1 − 0.025^(1/n) two-sided, z²/(n + z²) by the score.
        near(upper_bound(0.0, 1_000.0, 0.95), 0.002_991);
        near(upper_bound(0.0, 1_000.0, 0.975), 0.003_682);
        near(wilson(0.0, 1_000.0, 0.95).high, 0.003_827);
        let five = wilson(5.0, 1_000.0, 0.95);
        near(five.low, 0.002_137);
        near(five.high, 0.011_651);
    }

    #[test]
    fn nothing_seen_is_bounded_by_three_over_n() {
        assert_eq!((rule_of_three(300.0), rule_of_three(2.0)), (0.01, 1.0));
        assert!(upper_bound(0.0, 300.0, 0.95) < 0.01);
    }

    #[test]
    fn smallest_samples_are_those_of_loadgen() {
        let p99: Vec<u64> =
            [0, 1, 2, 5, 10, 100].map(|slow| smallest_passing(slow, 0.01, 0.95)).into();
        assert_eq!(p99, [299, 473, 628, 1_049, 1_693, 11_799]);
        assert_eq!(
            [0, 1, 10].map(|slow| smallest_passing(slow, 0.001, 0.95)),
            [2_995, 4_742, 16_959]
        );
        let strict: Vec<u64> =
            [0, 1, 2, 5, 10, 100].map(|slow| smallest_passing(slow, 0.01, 0.99)).into();
        assert_eq!(strict, [459, 662, 838, 1_307, 2_010, 12_571]);
        assert_eq!(smallest_passing(1, 0.1, 0.99), 64);
    }

    #[test]
    fn a_share_is_judged_by_its_bounds() {
        assert_eq!(judge(0, 299, 1.0, 0.01, 0.95), LimitSide::Below);
        assert!(matches!(judge(0, 298, 1.0, 0.01, 0.95), LimitSide::Undecided { .. }));
        assert_eq!(judge(30, 1_000, 1.0, 0.01, 0.95), LimitSide::Above);
        assert!(matches!(judge(30, 1_000, 30.0, 0.01, 0.95), LimitSide::Undecided { .. }));
        assert_eq!(judge(0, 0, 1.0, 0.01, 0.95), LimitSide::Undecided { factor: None });
    }

    #[test]
    fn what_is_decided_stays_so_with_less_dispersion() {
        for limit in [0.001, 0.01, 0.05, 0.5] {
            for x in (0..=1_000).step_by(5) {
                let sides = [500.0, 200.0, 90.0, 30.0, 9.0, 2.0, 1.0]
                    .map(|phi| decide(f64::from(x) / phi, 1_000.0 / phi, limit, 0.95));
                let decided = sides.iter().flatten().next();
                let since = sides.iter().skip_while(|side| side.is_none());
                assert!(since.clone().all(|side| side.as_ref() == decided), "{x}: {sides:?}");
            }
        }
    }

    #[test]
    fn an_undecided_share_names_the_length_that_would_decide() {
        let LimitSide::Undecided { factor: Some(factor) } = judge(0, 100, 1.0, 0.01, 0.95) else {
            panic!("decidable")
        };
        assert!((2.98..3.05).contains(&factor), "{factor}");
        assert_eq!(judge(10, 1_000, 1.0, 0.01, 0.95), LimitSide::Undecided { factor: None });
    }
}
