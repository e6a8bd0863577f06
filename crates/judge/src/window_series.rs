//! How many operations of each window lie beyond a threshold.

use stats::dispersion::{Dispersion, WindowCount};

/// Counts of one distribution over time, at several thresholds.
#[derive(Debug, Clone, Default)]
pub struct WindowSeries {
    thresholds: Vec<u64>,
    /// By threshold, then by number of the window.
    windows: Vec<Vec<WindowCount>>,
}

impl WindowSeries {
    /// An empty series. Thresholds in nanoseconds, ascending, `None` where a quantile falls among operations without
    /// a time.
    pub fn new(thresholds: impl IntoIterator<Item = Option<u64>>) -> Self {
        let thresholds: Vec<u64> =
            thresholds.into_iter().map(|threshold| threshold.unwrap_or(u64::MAX)).collect();
        let windows = vec![Vec::new(); thresholds.len()];
        Self { thresholds, windows }
    }

    /// Adds a window. `without_time` operations count as beyond every threshold.
    pub fn add(&mut self, window: u64, times: Option<&stats::Histogram>, without_time: u64) {
        let total = times.map_or(0, stats::Histogram::count) + without_time;
        let Ok(place) = usize::try_from(window) else { return };
        for (counts, &threshold) in self.windows.iter_mut().zip(&self.thresholds) {
            if counts.len() <= place {
                counts.resize(place + 1, WindowCount::default());
            }
            let above = times.map_or(0, |times| times.count_above(threshold));
            counts[place].add(total, above + without_time);
        }
    }

    /// Dispersion at the threshold at this place; where its own is not known well enough, at least what the
    /// thresholds before it predict.
    pub fn dispersion(&self, place: usize) -> Dispersion {
        Dispersion::of_tail(&self.windows[..=place])
    }

    /// Windows of each threshold.
    #[cfg(test)]
    pub fn windows(&self) -> &[Vec<WindowCount>] {
        &self.windows
    }

    /// Number of values in all windows.
    pub fn total(&self) -> u64 {
        self.windows
            .first()
            .map_or(0, |counts| counts.iter().map(|count| u64::from(count.total)).sum())
    }
}
