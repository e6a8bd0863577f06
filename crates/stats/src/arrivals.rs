//! Whether arrivals look like the process they were planned from.

/// Levels of significance of [`critical_value`], and its values for large samples.
///
/// Source: Stephens 1974, as tabulated in SciPy for an exponential with estimated scale
const CRITICAL: [(f64, f64); 5] =
    [(0.15, 0.916), (0.10, 1.062), (0.05, 1.321), (0.025, 1.591), (0.01, 1.959)];

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

/// Half-width around 1 of the 99 % interval of [`index_of_dispersion`] for Poisson arrivals: 2.576·√(2/(k−1)).
pub fn poisson_dispersion_tolerance(windows: usize) -> f64 {
    2.576 * (2.0 / (windows as f64 - 1.0)).sqrt()
}

/// Anderson–Darling statistic A² of gaps against an exponential with estimated mean.
///
/// A² = −n − (1/n)·Σ(2i−1)[log z_i + log(1−z_{n+1−i})], z_i = 1 − exp(−x_(i)/x̄).
/// Any grain of the clock rejects in a large sample: take at most 1,000 gaps.
///
/// Shape:  gaps in any order and unit; `None` with fewer than two gaps or a mean of 0; infinite if a gap is 0
pub fn anderson_darling_exponential(gaps: &[f64]) -> Option<f64> {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    if gaps.len() < 2 || mean <= 0.0 {
        return None;
    }
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let terms = sorted.iter().zip(sorted.iter().rev()).zip(1_u32..).map(|((low, high), place)| {
        // log(1 − z) of an exponential is −x/x̄ itself, exact where z rounds to 1.
        f64::from(2 * place - 1) * ((-(-low / mean).exp_m1()).ln() - high / mean)
    });
    Some(-n - terms.sum::<f64>() / n)
}

/// The value that A² of `n` exponential gaps exceeds with probability `level`: 0.15, 0.1, 0.05, 0.025 or 0.01.
pub fn critical_value(level: f64, n: usize) -> Option<f64> {
    let (_, value) = CRITICAL.iter().find(|(known, _)| *known == level)?;
    Some(value / (1.0 + 0.6 / n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: Option<f64>, known: f64) {
        let seen = seen.expect("a value");
        assert!((seen - known).abs() < 5e-5, "{seen} is not {known}");
    }

    #[test]
    fn one_to_ten_may_be_exponential() {
        let gaps: Vec<f64> = (1..=10).map(f64::from).collect();
        near(anderson_darling_exponential(&gaps), 0.8762);
        assert!(critical_value(0.05, 10).is_some_and(|critical| (critical - 1.246).abs() < 5e-4));
    }

    #[test]
    fn nearly_constant_gaps_are_not_exponential() {
        let gaps: Vec<f64> = (0..10).map(|step| 1.0 + f64::from(step) / 1_000.0).collect();
        near(anderson_darling_exponential(&gaps), 4.5608);
    }

    #[test]
    fn too_few_gaps_say_nothing() {
        assert_eq!(
            (anderson_darling_exponential(&[1.0]), anderson_darling_exponential(&[0.0, 0.0])),
            (None, None)
        );
        assert_eq!(critical_value(0.2, 10), None);
    }

    #[test]
    fn counts_are_as_dispersed_as_their_process() {
        near(index_of_dispersion(&[10; 50]), 0.0);
        near(index_of_dispersion(&[0, 2, 0, 2]), 4.0 / 3.0);
        assert_eq!((index_of_dispersion(&[3]), index_of_dispersion(&[0, 0])), (None, None));
        assert!((poisson_dispersion_tolerance(600) - 0.1489).abs() < 1e-4);
    }
}
