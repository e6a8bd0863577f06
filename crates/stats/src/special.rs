//! Distribution functions that the intervals stand on.
//!
//! The incomplete beta function is ours because the library's stops after 140 terms, which is too early for
//! parameters of a million, and its inverse is not bracketed.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

/// Beyond this many degrees of freedom Student's quantiles are the normal ones to three digits.
const NORMAL_FROM: f64 = 1_000.0;

/// Quantile of the standard normal distribution.
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// Share of the standard normal distribution below `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// Quantile of Student's t distribution.
pub(crate) fn student_quantile(freedom: f64, p: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom < NORMAL_FROM => student.inverse_cdf(p),
        _ => normal_quantile(p),
    }
}

/// Quantile of the χ² distribution, within 3 % (from fifteen degrees of freedom on, within 0.1 %).
///
/// Source: Wilson & Hilferty 1931
pub(crate) fn chi_squared_quantile(freedom: f64, p: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + normal_quantile(p) * spread.sqrt()).powi(3)
}

/// Logarithm of the binomial coefficient C(n, k).
pub(crate) fn ln_choose(n: f64, k: f64) -> f64 {
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// Regularised incomplete beta function I_x(a, b), for a, b > 0.
///
/// Source: DLMF 8.17.22, the continued fraction, by the modified Lentz method; it needs O(√max(a, b)) terms
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    front.exp() / a * continued_fraction(a, b, x)
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let limit = 200 + 10 * a.max(b).sqrt() as u64;
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in (1..=limit).map(|m| m as f64) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            value *= c * d;
        }
        if (value - before).abs() <= f64::EPSILON * value.abs() {
            break;
        }
    }
    value
}

/// Quantile of the beta distribution, by bisection to a relative 1e-13.
pub(crate) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-13 * high && high > f64::MIN_POSITIVE {
        let middle = (low + high) / 2.0;
        if incomplete_beta(a, b, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Chance that Fisher's F with these degrees of freedom exceeds a value.
pub(crate) fn fisher_survival(value: f64, above: f64, below: f64) -> f64 {
    incomplete_beta(below / 2.0, above / 2.0, below / (below + above * value.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: f64, known: f64) {
        assert!((seen - known).abs() <= 1e-9 * known.abs().max(1e-3), "{seen} is not {known}");
    }

    #[test]
    fn the_incomplete_beta_function_has_its_closed_forms() {
        near(incomplete_beta(1.0, 5.0, 0.2), 1.0 - 0.8_f64.powi(5));
        near(incomplete_beta(5.0, 1.0, 0.7), 0.7_f64.powi(5));
        near(incomplete_beta(2.0, 3.0, 0.5), 11.0 / 16.0);
        near(incomplete_beta(500_000.0, 500_000.0, 0.5), 0.5);
        assert_eq!((incomplete_beta(2.0, 3.0, 0.0), incomplete_beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn the_beta_quantile_undoes_it() {
        for (a, b) in [(0.5, 0.5), (1.0, 300.0), (40.0, 60.0), (12_345.0, 987_654.0)] {
            for p in [0.025, 0.5, 0.975] {
                assert!(
                    (incomplete_beta(a, b, beta_quantile(a, b, p)) - p).abs() < 1e-7,
                    "{a} {b} {p}"
                );
            }
        }
    }

    #[test]
    fn fisher_exceeds_its_tabulated_values_as_often_as_they_say() {
        for (value, above, below, known) in
            [(4.9646, 1.0, 10.0, 0.05), (2.0731, 9.0, 50.0, 0.05), (3.0204, 10.0, 9.0, 0.0557)]
        {
            let seen = fisher_survival(value, above, below);
            assert!((seen - known).abs() < 6e-4, "{value} {seen}");
        }
        assert_eq!(fisher_survival(0.0, 9.0, 50.0), 1.0);
    }

    #[test]
    fn chi_squared_quantiles_are_near_those_of_the_tables() {
        for (freedom, p, known, within) in [
            (1.0, 0.999, 10.828, 0.031),
            (2.0, 0.95, 5.991, 0.01),
            (15.0, 0.95, 24.996, 0.001),
            (99.0, 0.95, 123.225, 0.001),
        ] {
            let seen = chi_squared_quantile(freedom, p);
            assert!((seen / known - 1.0).abs() < within, "{freedom} {p}: {seen}");
        }
    }

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        for (freedom, known) in
            [(1.0, 12.706), (15.0, 2.131), (59.0, 2.001), (999.0, 1.962), (1e6, 1.960)]
        {
            assert!((student_quantile(freedom, 0.975) - known).abs() < 6e-4, "{freedom}");
        }
    }
}
