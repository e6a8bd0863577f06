//! Levels between the median of a trial and a bound: how many operations of each window lie above them.
//!
//! The median is that of the first usable trial, since trials are judged together. For a system in one state there is
//! a single median. For a drifting one it follows the medians of [`SEGMENTS`], which are known only after all windows
//! have been read: a drifting trial is read once for its medians and once to count.

use stats::dispersion::WindowCount;
use stats::exceedance::ThresholdLevel;
use stats::running_median::{LEVELS, RunningMedian, SEGMENTS};
use stats::{COARSE, Histogram};

use crate::distribution::Values;

/// Thresholds and counts of each level, by number of the window; windows of several trials follow one another.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    /// The median and the bound that the thresholds lie between; none after the trials are combined.
    between: Option<(RunningMedian, u64)>,
    thresholds: [Vec<u64>; LEVELS.len()],
    windows: [Vec<WindowCount>; LEVELS.len()],
}

impl Levels {
    /// An empty record for a trial, between this median and a bound.
    pub(super) fn new(median: RunningMedian, bound: u64) -> Self {
        Self { between: Some((median, bound)), ..Self::default() }
    }

    /// Adds a window. `without_time` operations count as above every level.
    pub(super) fn add(&mut self, window: u64, times: Option<&Histogram>, without_time: u64) {
        let Some((median, bound)) = &self.between else { return };
        let Ok(place) = usize::try_from(window) else { return };
        let total = times.map_or(0, Histogram::count) + without_time;
        for level in 0..LEVELS.len() {
            let (thresholds, windows) = (&mut self.thresholds[level], &mut self.windows[level]);
            for place in thresholds.len()..=place {
                thresholds.push(median.threshold(level, place, *bound));
                windows.push(WindowCount::default());
            }
            let above = times.map_or(0, |times| times.count_above(thresholds[place]));
            windows[place].add(total, above + without_time);
        }
    }

    /// Adds the windows of another trial after those of this one.
    pub(super) fn append(&mut self, other: Self) {
        for level in 0..LEVELS.len() {
            self.thresholds[level].extend(&other.thresholds[level]);
            self.windows[level].extend(&other.windows[level]);
        }
    }

    /// The same levels for a time that is not kept by window: thresholds that as many of its values exceed as in the
    /// windows.
    pub(super) fn moved(&self, times: &Histogram) -> Self {
        let mut moved = self.clone();
        for (thresholds, windows) in moved.thresholds.iter_mut().zip(&self.windows) {
            let sum = |part: fn(&WindowCount) -> u32| -> u64 {
                windows.iter().map(|window| u64::from(part(window))).sum()
            };
            let (above, total) = (sum(|window| window.above), sum(|window| window.total));
            let value = times.quantile(1.0 - above as f64 / total.max(1) as f64);
            thresholds.fill(value.unwrap_or(u64::MAX));
        }
        moved
    }

    /// In the form that [`stats::exceedance`] takes.
    pub(super) fn as_judged(&self) -> [ThresholdLevel<'_>; LEVELS.len()] {
        std::array::from_fn(|at| ThresholdLevel {
            thresholds: &self.thresholds[at],
            windows: &self.windows[at],
        })
    }
}

/// Times of a drifting trial, segment by segment.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    windows: usize,
    times: Vec<(Histogram, u64)>,
}

impl Segments {
    /// For a trial with this many windows.
    pub(super) fn new(windows: u64) -> Self {
        let windows = usize::try_from(windows).unwrap_or(usize::MAX);
        Self { windows, times: vec![(Histogram::new(COARSE), 0); SEGMENTS] }
    }

    /// Adds a window. `without_time` operations are slower than all others.
    pub(super) fn add(&mut self, window: u64, times: Option<&Histogram>, without_time: u64) {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let (all, lost) = &mut self.times[RunningMedian::segment(window, self.windows)];
        times.iter().for_each(|times| all.merge(times));
        *lost += without_time;
    }

    pub(super) fn medians(&self) -> RunningMedian {
        let median = |segment: usize| {
            let (times, without_time) = &self.times[segment];
            let values = Values { without_time: *without_time, ..Values::all(times) };
            values.at_quantile(0.5)
        };
        RunningMedian::drifting(std::array::from_fn(median), self.windows)
    }
}
