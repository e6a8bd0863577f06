//! Several tests at once: p-values corrected so that each may be held against the same level.

/// p-values corrected by Holm's step-down rule, in the order given; at most 1.
///
/// Source: Holm 1979; valid for any dependence between the tests
pub fn holm(p: &[f64]) -> Vec<f64> {
    stepped(p, false)
}

/// p-values corrected by Hochberg's step-up rule, in the order given; at most 1.
///
/// Source: Hochberg 1988; holds for tests that rise and fall together, as quantiles of one sample do
pub fn hochberg(p: &[f64]) -> Vec<f64> {
    stepped(p, true)
}

/// The i-th smallest of m is multiplied by m − i + 1. Down the steps none may be smaller than one before
/// it; up the steps none larger than one after it.
fn stepped(p: &[f64], up: bool) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let steps = |place: usize| (p.len() - place) as f64 * p[order[place]];
    let mut corrected = vec![1.0; p.len()];
    let mut kept = if up { 1.0 } else { 0.0 };
    for step in 0..p.len() {
        let place = if up { p.len() - 1 - step } else { step };
        kept = if up { steps(place).min(kept) } else { steps(place).max(kept) };
        corrected[order[place]] = kept.min(1.0);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seen: &[f64], known: &[f64]) {
        assert_eq!(seen.len(), known.len());
        for (seen, known) in seen.iter().zip(known) {
            assert!((seen - known).abs() < 1e-12, "{seen} is not {known}");
        }
    }

    #[test]
    fn corrected_values_are_those_of_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") and "hochberg".
        let p = [0.01, 0.04, 0.03, 0.005];
        near(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        near(&hochberg(&p), &[0.03, 0.04, 0.04, 0.02]);
    }

    #[test]
    fn one_test_needs_no_correction_and_no_value_exceeds_one() {
        near(&holm(&[0.04]), &[0.04]);
        near(&holm(&[0.6, 0.7]), &[1.0, 1.0]);
        near(&hochberg(&[0.6, 0.7]), &[0.7, 0.7]);
        near(&holm(&[]), &[]);
    }
}
