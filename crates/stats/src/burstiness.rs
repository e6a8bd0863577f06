//! Whether one series of arrivals is as bursty as another: the dispersion of their counts, scale by scale.
//!
//! Not here: the bins that are counted (see `record`), and what a change means for a replay (see `judge`).

use crate::Interval;
use crate::special::student_quantile;

/// Fewer intervals of a length say too little about their dispersion.
pub const LEAST_INTERVALS: usize = 20;
/// Stretches of the run that the interval of a change comes from.
const SEGMENTS: usize = 20;
/// Confidence that the intervals of all scales hold their changes.
const CONFIDENCE: f64 = 0.95;
/// Lengths of intervals, in nanoseconds: 1, 2 and 5 times powers of ten, from 10 ms to 100 s.
pub const SCALES: [u64; 13] = {
    let ms = 1_000_000;
    let (tens, hundreds, seconds) = (10 * ms, 100 * ms, 1_000 * ms);
    [
        tens,
        2 * tens,
        5 * tens,
        hundreds,
        2 * hundreds,
        5 * hundreds,
        seconds,
        2 * seconds,
        5 * seconds,
        10 * seconds,
        20 * seconds,
        50 * seconds,
        100 * seconds,
    ]
};

/// The dispersion of two series at one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleChange {
    /// Length of the intervals, in nanoseconds.
    pub scale_ns: u64,
    /// How many of them there are.
    pub intervals: usize,
    /// Index of dispersion before: variance over mean of the counts.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// (after − before) / max(before, 1).
    pub change: f64,
    /// What the change is claimed to lie between.
    pub interval: Interval,
}

/// Compares the dispersion of two series of counts at each of [`SCALES`] that is a multiple of the bin and fits into
/// the series [`LEAST_INTERVALS`] times.
///
/// The change is relative to the dispersion before, or to that of a Poisson process (1) if this is greater: a series
/// without dispersion has no ratio. Its interval is θ ± t·SE of the delete-one jackknife over 20 stretches of the run,
/// which hold both series, so that only what differs between them widens it. All intervals together hold their changes
/// with 95 % (Bonferroni).
///
/// Shape:  both series of one length, in bins of `bin_ns` from the same instant
/// Source: Fano 1947 for the index; Tukey 1958 for the jackknife
pub fn changes(before: &[u32], after: &[u32], bin_ns: u64) -> Vec<ScaleChange> {
    let fits = |scale: &u64| {
        let bins = usize::try_from(scale.checked_div(bin_ns)?).ok()?;
        let is_known = scale.is_multiple_of(bin_ns) && before.len() / bins >= LEAST_INTERVALS;
        is_known.then_some((*scale, bins))
    };
    let scales: Vec<(u64, usize)> = SCALES.iter().filter_map(fits).collect();
    let level = 1.0 - (1.0 - CONFIDENCE) / (2.0 * scales.len() as f64);
    scales.iter().map(|(scale, bins)| change(before, after, (*scale, *bins), level)).collect()
}

fn change(
    before: &[u32],
    after: &[u32],
    (scale_ns, bins): (u64, usize),
    level: f64,
) -> ScaleChange {
    let intervals = before.len() / bins;
    let mut segments = [Pair::default(); SEGMENTS];
    let counts = before.chunks_exact(bins).zip(after.chunks_exact(bins));
    for (place, (before, after)) in counts.enumerate() {
        segments[place * SEGMENTS / intervals].add(before, after);
    }
    let whole = segments.iter().fold(Pair::default(), |sum, one| sum.plus(one, 1.0));
    let without = segments.map(|one| whole.plus(&one, -1.0).change());
    let mean = without.iter().sum::<f64>() / SEGMENTS as f64;
    let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
    let freedom = SEGMENTS as f64 - 1.0;
    let error = (squares * freedom / SEGMENTS as f64).sqrt();
    ScaleChange {
        scale_ns,
        intervals,
        before: whole.before.dispersion(),
        after: whole.after.dispersion(),
        change: whole.change(),
        interval: Interval::around(whole.change(), student_quantile(freedom, level) * error),
    }
}

/// Both series over the same intervals.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    before: Moments,
    after: Moments,
}

/// Sums over the counts of intervals.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    intervals: f64,
    sum: f64,
    squares: f64,
}

impl Pair {
    fn add(&mut self, before: &[u32], after: &[u32]) {
        self.before.add(before);
        self.after.add(after);
    }

    fn plus(&self, other: &Self, times: f64) -> Self {
        let before = self.before.plus(&other.before, times);
        Self { before, after: self.after.plus(&other.after, times) }
    }

    fn change(&self) -> f64 {
        let before = self.before.dispersion();
        (self.after.dispersion() - before) / before.max(1.0)
    }
}

impl Moments {
    fn add(&mut self, bins: &[u32]) {
        let count = bins.iter().map(|count| f64::from(*count)).sum::<f64>();
        *self = self.plus(&Self { intervals: 1.0, sum: count, squares: count * count }, 1.0);
    }

    fn plus(&self, other: &Self, times: f64) -> Self {
        Self {
            intervals: self.intervals + times * other.intervals,
            sum: self.sum + times * other.sum,
            squares: self.squares + times * other.squares,
        }
    }

    /// As [`index_of_dispersion`](crate::arrivals::index_of_dispersion); 0 without arrivals.
    fn dispersion(&self) -> f64 {
        if self.sum <= 0.0 || self.intervals < 2.0 {
            return 0.0;
        }
        let mean = self.sum / self.intervals;
        let squares = (self.squares - self.sum * mean).max(0.0);
        squares / (self.intervals - 1.0) / mean
    }
}

#[cfg(test)]
mod tests;
