//! How unevenly arrivals are spread over windows: what tests of schedules ask.

/// Index of dispersion of counts: sample variance over mean of the arrivals per window.
///
/// About 0 for constant arrivals, 1 for Poisson, b for batches of b. `None` with fewer than two windows or no arrival.
pub fn index_of_dispersion(counts: &[u64]) -> Option<f64> {
    let windows = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / windows;
    if counts.len() < 2 || mean == 0.0 {
        return None;
    }
    let squares: f64 = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum();
    Some(squares / (windows - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: Option<f64>, known: f64) {
        let seen = seen.expect("a value");
        assert!((seen - known).abs() < 5e-5, "{seen} is not {known}");
    }

    #[test]
    fn counts_are_as_dispersed_as_their_process() {
        near(index_of_dispersion(&[10; 50]), 0.0);
        near(index_of_dispersion(&[0, 2, 0, 2]), 4.0 / 3.0);
        assert_eq!((index_of_dispersion(&[3]), index_of_dispersion(&[0, 0])), (None, None));
    }
}
