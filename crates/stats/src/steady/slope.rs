//! A straight line through a series that a few wild windows cannot bend, and how far it can be trusted.

use super::point::allowance;
use crate::bootstrap::{BlockResampler, block_length};
use crate::moments::deviation;
use crate::special::student_quantile;

/// Resamples behind a standard error.
const RESAMPLES: usize = 200;

/// A slope with its interval. Change of the series from the first place to the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeChange {
    /// Theil–Sen slope times the number of places.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl SlopeChange {
    /// Whether the interval leaves 0 out.
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Median of the slopes between all pairs of places; 0 with fewer than two.
///
/// Source: Theil 1950, Sen 1968
pub fn theil_sen(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
    for (place, from) in values.iter().enumerate() {
        let later = values[place + 1..].iter().zip(1_u32..);
        slopes.extend(later.map(|(to, steps)| (to - from) / f64::from(steps)));
    }
    median(&mut slopes).unwrap_or(0.0)
}

/// Change of a series over its whole length, with an interval of this level (two-sided, such as 0.01): standard error
/// of slopes through the line with its residuals resampled in circular blocks, Student's quantile with the number of
/// blocks for freedom. A short series must be as much surer as it is short.
///
/// Shape:  at least four values, in order of time
/// Cost:   200 times n²/2
pub fn change(values: &[f64], level: f64, seed: u64) -> SlopeChange {
    let slope = theil_sen(values);
    let length = values.len() as f64;
    let residuals = residuals(values, slope);
    let block = block_length(&residuals);
    let mut blocks = BlockResampler::new(values.len(), block, seed);
    let slopes: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let places = blocks.draw();
            theil_sen(&places.iter().map(|&place| residuals[place]).collect::<Vec<_>>())
        })
        .collect();
    let freedom = (length / block as f64 - 2.0).max(1.0);
    let error = deviation(&slopes).expect("there are 200 slopes");
    let level = level / allowance(values.len());
    let half = student_quantile(freedom, 1.0 - level / 2.0) * error * length;
    let estimate = slope * length;
    SlopeChange { estimate, low: estimate - half, high: estimate + half }
}

/// What is left of a series without a line of this slope through its median.
pub(super) fn residuals(values: &[f64], slope: f64) -> Vec<f64> {
    let mut left: Vec<f64> =
        values.iter().enumerate().map(|(place, value)| value - slope * place as f64).collect();
    let middle = median(&mut left.clone()).unwrap_or(0.0);
    left.iter_mut().for_each(|value| *value -= middle);
    left
}

/// The median, the lower of two in the middle; reorders the values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_whatever_a_few_values_say() {
        let mut line: Vec<f64> = (0..50).map(|place| 3.0 + 0.2 * f64::from(place)).collect();
        assert!((theil_sen(&line) - 0.2).abs() < 1e-12);
        line[10..14].fill(1e9);
        assert!((theil_sen(&line) - 0.2).abs() < 0.01);
        assert_eq!(theil_sen(&[1.0]), 0.0);
    }

    #[test]
    fn a_trend_is_certain_and_a_ripple_is_not() {
        let ripple = |slope: f64| -> Vec<f64> {
            (0..80).map(f64::from).map(|place| slope * place + (place * place).sin()).collect()
        };
        let flat = change(&ripple(0.0), 0.01, 1);
        assert!(!flat.is_certain(), "{flat:?}");
        let rising = change(&ripple(0.05), 0.01, 1);
        assert!(rising.is_certain() && rising.low < 4.0 && 4.0 < rising.high, "{rising:?}");
        assert_eq!(rising, change(&ripple(0.05), 0.01, 1), "the same seed");
    }
}
