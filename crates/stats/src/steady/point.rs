//! What a steady state is judged by: one point for each window, or for a few windows together.

/// Points below which no steady state can be tested.
pub const POINTS_LEAST: u64 = 30;
/// Points from which tests know well enough what is chance.
const POINTS_ENOUGH: f64 = 60.0;
/// Points beyond which windows are taken together: more would cost time and show nothing new.
const POINTS_MOST: u64 = 240;
/// Operations of a point, on average, below which its quantiles are mere chance.
const OPERATIONS_LEAST: u64 = 20;

/// One window, or a few together, with every operation that was due in it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WindowPoint {
    /// Succeeded operations.
    pub succeeded: u64,
    /// Median response time of them; nothing is known of it if there were none.
    pub median_ns: u64,
    /// Their 95th percentile.
    pub tail_ns: u64,
    /// Of them, those slower than the median of the whole phase.
    pub above_median: u64,
    /// Of them, those slower than its 95th percentile.
    pub above_tail: u64,
    /// Operations that failed, or were never begun or abandoned.
    pub lost: u64,
    /// In flight at its end.
    pub in_flight: f64,
}

/// How many windows make a point, given the windows of a phase and its operations; `None` where a steady state
/// cannot be tested, because there would be fewer than [`POINTS_LEAST`] points.
pub fn group_length(windows: u64, operations: u64) -> Option<u64> {
    let filled = (OPERATIONS_LEAST * windows).div_ceil(operations.max(1));
    let group = windows.div_ceil(POINTS_MOST).max(filled).max(1);
    (windows / group >= POINTS_LEAST).then_some(group)
}

/// By how much the variance of a short series is taken for greater than it shows, and its interval for less likely to
/// hold: what is estimated from few points errs more.
pub(super) fn allowance(points: usize) -> f64 {
    (POINTS_ENOUGH / points as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_have_operations_enough_and_are_neither_few_nor_many() {
        for (windows, operations, group) in [
            (60, 60_000, Some(1)),
            (60, 1_200, Some(1)),
            (60, 1_199, Some(2)),
            (60, 600, Some(2)),
            (60, 599, None),
            (30, 60_000, Some(1)),
            (29, 60_000, None),
            (600, 3_000, Some(4)),
            (600, 600_000, Some(3)),
            (3_600, 3_600_000, Some(15)),
            (60, 0, None),
            (0, 0, None),
        ] {
            assert_eq!(group_length(windows, operations), group, "{windows} {operations}");
        }
    }
}
