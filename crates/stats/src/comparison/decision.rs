//! The answer in one of three words.

use super::difference::Difference;

/// Level of every test, after correction.
pub const ALPHA: f64 = 0.05;

/// What may be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// There is a difference. `size_certain`: it is larger than the margin, too.
    Changed {
        /// Whether the whole interval lies beyond the margin.
        size_certain: bool,
    },
    /// Whatever difference there is is smaller than the margin.
    Equivalent,
    /// The data say neither.
    Undecided,
}

/// The first rule that holds: a 95 % interval beyond the margin; a 90 % interval within it; a 95 %
/// interval without 0.
///
/// A change is also held against `p`, the p-value corrected for all tests of its family: one interval in
/// twenty excludes 0 by chance, so that of many comparisons some would. The intervals are not
/// widened: they say how large a difference is, each for itself.
///
/// Shape:  `margin` > 0, on the scale of the difference
/// Source: two one-sided tests, Schuirmann 1987
pub fn decide(seen: &Difference, p: f64, margin: f64) -> Decision {
    let beyond = |margin: f64| p <= ALPHA && seen.interval.is_some_and(|one| one.is_beyond(margin));
    if beyond(margin) {
        Decision::Changed { size_certain: true }
    } else if seen.interval.and(seen.inner).is_some_and(|inner| inner.is_within(margin)) {
        Decision::Equivalent
    } else if beyond(0.0) {
        Decision::Changed { size_certain: false }
    } else {
        Decision::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    fn seen(interval: (f64, f64), inner: (f64, f64)) -> Difference {
        let of = |(low, high)| Some(Interval { low, high });
        Difference { estimate: 0.0, interval: of(interval), inner: of(inner), p: 0.01 }
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        let decided = |interval, inner| decide(&seen(interval, inner), 0.01, 0.05);
        let certain = Decision::Changed { size_certain: true };
        assert_eq!(decided((0.06, 0.10), (0.07, 0.09)), certain);
        assert_eq!(decided((-0.10, -0.06), (-0.09, -0.07)), certain);
        // A real difference that is negligible.
        assert_eq!(decided((0.01, 0.045), (0.012, 0.04)), Decision::Equivalent);
        assert_eq!(decided((0.01, 0.09), (0.02, 0.08)), Decision::Changed { size_certain: false });
        assert_eq!(decided((-0.02, 0.09), (0.01, 0.08)), Decision::Undecided);
    }

    #[test]
    fn a_change_also_needs_its_corrected_p_value() {
        let far = seen((0.06, 0.10), (0.07, 0.09));
        assert_eq!(decide(&far, 0.06, 0.05), Decision::Undecided);
        assert_eq!(decide(&far, ALPHA, 0.05), Decision::Changed { size_certain: true });
        // Equivalence is a test of its own.
        assert_eq!(decide(&seen((-0.03, 0.03), (-0.02, 0.02)), 1.0, 0.05), Decision::Equivalent);
    }

    #[test]
    fn without_an_interval_nothing_is_decided() {
        let alone = Difference { estimate: 1.0, interval: None, inner: None, p: 0.001 };
        assert_eq!(decide(&alone, 0.001, 0.05), Decision::Undecided);
        let inner = Some(Interval { low: -0.01, high: 0.01 });
        assert_eq!(decide(&Difference { inner, ..alone }, 1.0, 0.05), Decision::Undecided);
    }
}
