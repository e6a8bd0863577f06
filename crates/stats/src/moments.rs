//! Mean and standard deviation of a list.

/// Mean and standard deviation (n − 1); `None` for an empty list, no deviation for one value.
pub fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let spread = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    (!values.is_empty()).then_some((mean, spread))
}

/// The standard deviation alone, of two values or more.
pub fn deviation(values: &[f64]) -> Option<f64> {
    moments(values)?.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_worked_case_has_its_moments() {
        // Squares about 5 are 9, 1, 1, 1, 0, 0, 4, 16: 32 over 7.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(moments(&values), Some((5.0, Some((32.0_f64 / 7.0).sqrt()))));
    }

    #[test]
    fn one_value_has_no_deviation_and_none_has_no_mean() {
        assert_eq!((moments(&[3.0]), deviation(&[3.0])), (Some((3.0, None)), None));
        assert_eq!((moments(&[]), deviation(&[])), (None, None));
    }
}
