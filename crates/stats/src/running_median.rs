//! The median of a trial, window by window, and thresholds between it and a bound.
//!
//! Thresholds follow the median, so that a system that grows by design is not taken for one that varies. They
//! are parts of the way to the bound: what varies by less than an eighth of that way says nothing about operations
//! beyond the bound.

#[cfg(test)]
mod tests;

/// How far from the median to the bound each level lies. The first is the median itself.
pub const LEVELS: [f64; 4] = [0.0, 0.125, 0.25, 0.5];
/// Equal parts of a drifting trial, each with a median: enough for growth of any usual shape, too few to follow a burst.
pub const SEGMENTS: usize = 4;

/// The median of a trial over its windows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningMedian {
    /// Places in windows, ascending, and the median there.
    knots: Vec<(f64, f64)>,
}

impl RunningMedian {
    /// The same from the beginning to the end.
    pub fn steady(median: u64) -> Self {
        Self { knots: vec![(0.0, median as f64)] }
    }

    /// Straight lines through the medians of equal segments, each at the middle of its segment.
    ///
    /// Shape:  `None` for a segment without operations
    pub fn drifting(medians: [Option<u64>; SEGMENTS], windows: usize) -> Self {
        let place = |segment: usize| (segment as f64 + 0.5) * windows as f64 / SEGMENTS as f64;
        let knots = medians.into_iter().enumerate();
        let knots = knots.filter_map(|(at, median)| Some((place(at), median? as f64)));
        Self { knots: knots.collect() }
    }

    /// The segment of a window.
    pub fn segment(window: usize, windows: usize) -> usize {
        (window.saturating_mul(SEGMENTS) / windows.max(1)).min(SEGMENTS - 1)
    }

    /// The threshold of a level in a window: never above the bound.
    ///
    /// Shape:  `level` is an index of [`LEVELS`]
    pub fn threshold(&self, level: usize, window: usize, bound: u64) -> u64 {
        let (median, bound) = (self.at(window as f64 + 0.5), bound as f64);
        let way = (bound - median).max(0.0) * LEVELS[level];
        (median + way).min(bound) as u64
    }

    /// On the line through the two knots beside a place, or through the two nearest at either end.
    fn at(&self, place: f64) -> f64 {
        let [(_, first), ..] = self.knots[..] else { return f64::INFINITY };
        let after = self.knots.iter().position(|knot| knot.0 >= place);
        let after = after.unwrap_or(self.knots.len() - 1).max(1);
        let Some(&(right, to)) = self.knots.get(after) else { return first };
        let (left, from) = self.knots[after - 1];
        (from + (to - from) * (place - left) / (right - left)).max(0.0)
    }
}
