//! A quantile of few values, as a weighted mean of all of them.
//!
//! For values of runs, of which there are tens. In histograms of operations nearest rank is enough, and in a far
//! tail these weights lean on the maximum.

use crate::special::incomplete_beta;

/// A quantile and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothed {
    /// The quantile, in the unit of the values.
    pub value: f64,
    /// Its standard error, in the same unit; 0 for a single value.
    pub standard_error: f64,
}

/// The quantile Σ w_i·x_(i), w_i = I_{i/n}(a, b) − I_{(i−1)/n}(a, b) with a = (n+1)q, b = (n+1)(1−q), and the
/// standard error √(Σ w_i·x_(i)² − (Σ w_i·x_(i))²).
///
/// Shape:  independent values in any order, `q` in (0, 1); `None` without values
/// Source: Harrell & Davis 1982, "A new distribution-free quantile estimator"; Maritz & Jarrett 1978
pub fn harrell_davis(values: &[f64], q: f64) -> Option<Smoothed> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let centre = *sorted.get(sorted.len() / 2)?;
    let n = sorted.len() as f64;
    let (a, b) = ((n + 1.0) * q, (n + 1.0) * (1.0 - q));
    // About the middle value, so that the squares do not cancel.
    let (mut mean, mut square, mut below) = (0.0, 0.0, 0.0);
    for (place, value) in sorted.iter().enumerate() {
        let up_to = incomplete_beta(a, b, (place + 1) as f64 / n);
        let weight = up_to - below;
        mean += weight * (value - centre);
        square += weight * (value - centre).powi(2);
        below = up_to;
    }
    let standard_error = (square - mean * mean).max(0.0).sqrt();
    Some(Smoothed { value: centre + mean, standard_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: f64, known: f64) {
        assert!((seen - known).abs() < 5e-9 * known.abs().max(1.0), "{seen} is not {known}");
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        let values = [1.2, 2.5, 3.7, 4.0, 5.1, 6.3, 7.0, 8.2, 9.4];
        for (q, known) in [(0.25, 3.150_582_02), (0.5, 5.194_344_08), (0.75, 7.430_626_41)] {
            near(harrell_davis(&values, q).unwrap().value, known);
        }
    }

    #[test]
    fn weights_of_three_are_those_of_the_closed_form() {
        // I_x(2, 2) = 3x² − 2x³: weights 7/27, 13/27, 7/27.
        let seen = harrell_davis(&[2.0, 0.0, 1.0], 0.5).unwrap();
        near(seen.value, 1.0);
        near(seen.standard_error, (14.0_f64 / 27.0).sqrt());
    }

    #[test]
    fn a_great_offset_does_not_cancel() {
        let seen = harrell_davis(&[1e12 + 2.0, 1e12, 1e12 + 1.0], 0.5).unwrap();
        assert_eq!(seen.value, 1e12 + 1.0);
        near(seen.standard_error, (14.0_f64 / 27.0).sqrt());
    }

    #[test]
    fn one_value_is_every_quantile_and_none_is_none() {
        assert_eq!(harrell_davis(&[7.0], 0.9), Some(Smoothed { value: 7.0, standard_error: 0.0 }));
        assert_eq!(harrell_davis(&[], 0.5), None);
    }

    #[test]
    fn the_error_is_that_of_the_median_of_a_uniform_sample() {
        // SE of a median: 1/(2·f·√n), with density f = 1 on (0, 1).
        let values: Vec<f64> = (0..400).map(|place| (f64::from(place) + 0.5) / 400.0).collect();
        let seen = harrell_davis(&values, 0.5).unwrap();
        assert!((seen.value - 0.5).abs() < 1e-9);
        assert!((seen.standard_error - 0.025).abs() < 1e-3, "{}", seen.standard_error);
    }
}
