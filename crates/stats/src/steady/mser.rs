//! MSER-5: how much of the start to leave out so that the mean of the rest is known best.

/// Windows that are averaged before the rule is applied.
pub const BATCH: usize = 5;

/// What the rule says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truncation {
    /// Batches at the start to leave out (d*).
    pub batches: usize,
    /// Marginal standard error squared at d*.
    pub statistic: f64,
    /// Whether d* is not the greatest that was allowed.
    pub converged: bool,
}

/// MSER(d) = Σ_{j>d}(z_j − z̄_d)²/(k−d)² for d = 0 … ⌊k/2⌋, of batch means; the least one wins.
///
/// `None` with fewer than two batches.
///
/// Source: White 1997; White, Cobb & Spratt 2000
pub fn mser(batches: &[f64]) -> Option<Truncation> {
    let limit = batches.len() / 2;
    if limit == 0 {
        return None;
    }
    let statistic = |cut: usize| {
        let rest = &batches[cut..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let best = (0..=limit).min_by(|&a, &b| statistic(a).total_cmp(&statistic(b)))?;
    Some(Truncation { batches: best, statistic: statistic(best), converged: best < limit })
}

/// [`mser`] of the means of five consecutive values each.
pub fn mser5(values: &[f64]) -> Option<Truncation> {
    let batches: Vec<f64> =
        values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    mser(&batches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_start_is_cut_off() {
        let mut batches = vec![10.0, 6.0, 4.0, 3.0, 2.0];
        batches.extend([1.0, 1.2, 0.8, 1.1, 0.9].repeat(4));
        let seen = mser(&batches).unwrap();
        assert_eq!((seen.batches, seen.converged), (5, true));
        assert!((seen.statistic - 0.0010).abs() < 5e-5, "{seen:?}");
        let values: Vec<f64> = batches.iter().flat_map(|&batch| [batch; BATCH]).collect();
        assert_eq!(mser5(&values).unwrap().batches, 5);
    }

    #[test]
    fn a_trend_never_converges() {
        let trend: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(mser(&trend).map(|seen| (seen.batches, seen.converged)), Some((20, false)));
    }

    #[test]
    fn a_level_series_keeps_its_start() {
        assert_eq!(mser(&[1.0; 12]).map(|seen| seen.batches), Some(0));
        assert_eq!(mser(&[1.0]), None);
    }
}
