//! A straight line through weighted points, with the interval of its slope.

use crate::special::student_quantile;

/// A point with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedPoint {
    /// Where.
    pub x: f64,
    /// What was seen there.
    pub y: f64,
    /// How much it counts: one over its variance, up to a common factor.
    pub weight: f64,
}

/// y = intercept + slope · x
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    /// At x = 0.
    pub intercept: f64,
    /// Growth of y for each x.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Least squares; the interval by Student's t on what the line leaves over. `None` for fewer than three points or a
/// single x.
pub fn line(points: &[WeightedPoint]) -> Option<FittedLine> {
    if points.len() < 3 {
        return None;
    }
    let sum = |of: &dyn Fn(&WeightedPoint) -> f64| {
        points.iter().map(|point| point.weight * of(point)).sum::<f64>()
    };
    let weight = sum(&|_| 1.0);
    let (x, y) = (sum(&|point| point.x) / weight, sum(&|point| point.y) / weight);
    let spread = sum(&|point| (point.x - x).powi(2));
    if spread <= 0.0 {
        return None;
    }
    let slope = sum(&|point| (point.x - x) * (point.y - y)) / spread;
    let intercept = y - slope * x;
    let left_over = sum(&|point| (point.y - intercept - slope * point.x).powi(2));
    let freedom = points.len() as f64 - 2.0;
    let half = student_quantile(freedom, 0.975) * (left_over / freedom / spread).sqrt();
    Some(FittedLine { intercept, slope, low: slope - half, high: slope + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(f64, f64)]) -> Vec<WeightedPoint> {
        values.iter().map(|&(x, y)| WeightedPoint { x, y, weight: 1.0 }).collect()
    }

    #[test]
    fn a_line_is_found_exactly() {
        let found = line(&points(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)])).unwrap();
        assert!((found.slope - 2.0).abs() < 1e-12 && (found.intercept - 3.0).abs() < 1e-12);
        assert!(found.high - found.low < 1e-6);
    }

    #[test]
    fn the_interval_is_that_of_a_known_case() {
        // y = 0, 2, 1, 3 at x = 0..3: slope 0.8, residual variance 0.9, spread 5: 0.8 ± 4.3027·√0.18.
        let found = line(&points(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0), (3.0, 3.0)])).unwrap();
        assert!((found.slope - 0.8).abs() < 1e-12);
        assert!((found.high - 0.8 - 4.302_652_73 * 0.18_f64.sqrt()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn too_few_points_have_no_line() {
        assert_eq!(line(&points(&[(0.0, 0.0), (1.0, 1.0)])), None);
        assert_eq!(line(&points(&[(1.0, 0.0), (1.0, 1.0), (1.0, 2.0)])), None);
    }
}
