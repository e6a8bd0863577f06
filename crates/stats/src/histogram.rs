//! Counts by value bucket, in the geometry of HdrHistogram, with exact moments beside them.

mod geometry;
#[cfg(test)]
mod tests;

use crate::quantile;
use geometry::Geometry;

/// Grouping power of totals: buckets at most 1/1024 of the value wide (3 digits).
pub const FINE: u32 = 10;
/// Grouping power of windows: buckets at most 1/128 of the value wide (2 digits).
pub const COARSE: u32 = 7;
/// Values of 2^37 and more are counted as overflow (in nanoseconds, 137 s).
pub const RANGE_BITS: u32 = 37;

/// A histogram with a single writer.
///
/// Values below 2^(g+1) have a bucket each; above, each power of two is split into 2^g.
/// Source: method of rpc-perf's H2; identical indices to HdrHistogram with 3 (g = 10) or 2 (g = 7) digits
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    geometry: Geometry,
    counts: Box<[u64]>,
    count: u64,
    overflow: u64,
    min: u64,
    max: u64,
    sum: u128,
    sum_of_squares: u128,
}

/// A non-empty bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Least value in it.
    pub low: u64,
    /// Greatest value in it.
    pub high: u64,
    /// Values in it.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram; its memory is touched, so that no page fault happens later.
    pub fn new(grouping_power: u32) -> Self {
        let mut histogram = Self::untouched(grouping_power);
        // Ones first: zeroed memory may come from the kernel untouched.
        std::hint::black_box(&mut histogram.counts).fill(1);
        std::hint::black_box(&mut histogram.counts).fill(0);
        histogram
    }

    /// An empty histogram.
    fn untouched(grouping_power: u32) -> Self {
        let geometry = Geometry::new(grouping_power);
        Self {
            geometry,
            counts: vec![0; geometry.buckets()].into_boxed_slice(),
            count: 0,
            overflow: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0,
        }
    }

    /// Memory of a histogram in bytes; it does not depend on its content.
    pub fn memory(grouping_power: u32) -> u64 {
        (Geometry::new(grouping_power).buckets() * size_of::<u64>()) as u64
    }

    /// The bucket of a value, from 0; one common index past the last for every value out of range.
    pub fn bucket_index(grouping_power: u32, value: u64) -> usize {
        let geometry = Geometry::new(grouping_power);
        geometry.index(value).min(geometry.buckets())
    }

    /// Counts one value. No allocation, no lock.
    #[inline]
    pub fn record(&mut self, value: u64) {
        match self.counts.get_mut(self.geometry.index(value)) {
            Some(bucket) => *bucket += 1,
            None => self.overflow += 1,
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let value = u128::from(value);
        self.sum += value;
        self.sum_of_squares = self.sum_of_squares.saturating_add(value * value);
    }

    /// Counts a value `count` times.
    pub fn record_n(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        match self.counts.get_mut(self.geometry.index(value)) {
            Some(bucket) => *bucket += count,
            None => self.overflow += count,
        }
        self.count += count;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let (value, count) = (u128::from(value), u128::from(count));
        self.sum += value * count;
        self.sum_of_squares =
            self.sum_of_squares.saturating_add((value * value).saturating_mul(count));
    }

    /// Counts the values of a bucket whose exact values are lost, as in a file: the extremes become the ends
    /// of the bucket, and the moments take its middle.
    pub fn restore(&mut self, bucket: &Bucket) {
        let (min, max) = (self.min.min(bucket.low), self.max.max(bucket.high));
        self.record_n(bucket.low + (bucket.high - bucket.low) / 2, bucket.count);
        if bucket.count > 0 {
            (self.min, self.max) = (min, max);
        }
    }

    /// Gives a restored histogram the exact moments that its buckets do not hold: extremes, sum and sum
    /// of squares. An empty one has none.
    pub fn restore_moments(&mut self, (min, max): (u64, u64), (sum, squares): (u128, u128)) {
        if self.count > 0 {
            (self.min, self.max) = (min, max);
            (self.sum, self.sum_of_squares) = (sum, squares);
        }
    }

    /// The counts of its buckets by index, ascending, without empty ones; the index past the last is that of overflow.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let overflow = (self.counts.len(), self.overflow);
        let counts = self.counts.iter().copied().enumerate().chain([overflow]);
        counts.filter(|&(_, count)| count > 0)
    }

    /// The histogram with these counts, as [`Histogram::counts`] gives them, without moments (see
    /// [`Histogram::restore_moments`]). `None` if there is no such bucket, or no such number of values.
    pub fn of_counts(
        grouping_power: u32,
        counts: impl IntoIterator<Item = (usize, u64)>,
    ) -> Option<Self> {
        let mut histogram = Self::untouched(grouping_power);
        for (index, count) in counts {
            histogram.count = histogram.count.checked_add(count)?;
            match index == histogram.counts.len() {
                true => histogram.overflow += count,
                false => *histogram.counts.get_mut(index)? += count,
            }
        }
        Some(histogram)
    }

    /// Tells a restored histogram more of its greatest value: it lies in the last bucket and is at most `bound`.
    /// A bound outside that bucket says nothing.
    pub fn tighten_max(&mut self, bound: u64) {
        if self.geometry.index(bound) == self.geometry.index(self.max) {
            self.max = self.max.min(bound);
        }
    }

    /// Adds another histogram of the same or a finer geometry, exactly.
    ///
    /// Panics: if `other` is coarser
    pub fn merge(&mut self, other: &Self) {
        assert!(
            other.grouping_power() >= self.grouping_power(),
            "a coarser histogram cannot be merged into a finer one"
        );
        if other.count == 0 {
            return;
        }
        if other.geometry == self.geometry {
            for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
                *mine += theirs;
            }
        } else {
            for bucket in other.buckets() {
                self.counts[self.geometry.index(bucket.low)] += bucket.count;
            }
        }
        self.count += other.count;
        self.overflow += other.overflow;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// The same values in a coarser geometry, exactly.
    ///
    /// Panics: if `grouping_power` is greater than this histogram's
    pub fn coarsened(&self, grouping_power: u32) -> Self {
        let mut coarse = Self::new(grouping_power);
        coarse.merge(self);
        coarse
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.overflow) = (0, 0);
        (self.min, self.max) = (u64::MAX, 0);
        (self.sum, self.sum_of_squares) = (0, 0);
    }

    /// Grouping power.
    pub fn grouping_power(&self) -> u32 {
        self.geometry.grouping_power()
    }

    /// Values counted, overflow included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Values beyond the range.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Exact least value, 0 when empty.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// Exact greatest value, 0 when empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Exact sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Sum of the squares, exact up to 2^128 and held there.
    pub fn sum_of_squares(&self) -> u128 {
        self.sum_of_squares
    }

    /// Mean from the exact sum; 0 when empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Population standard deviation from the exact moments; 0 when empty.
    ///
    /// Squares are centred on the whole part of the mean in integers, so that nothing cancels in floating point.
    pub fn stdev(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        // Modular arithmetic: the result fits, whatever the intermediate terms do.
        let centred = self
            .sum_of_squares
            .wrapping_sub(whole.wrapping_mul(self.sum).wrapping_mul(2))
            .wrapping_add(count.wrapping_mul(whole.wrapping_mul(whole)));
        let offset = rest as f64 / count as f64;
        (centred as f64 / count as f64 - offset * offset).max(0.0).sqrt()
    }

    /// The bucket that holds the value of this rank (1-based), its upper end capped by the
    /// exact maximum and its lower end by the exact minimum.
    /// `None` if the rank is 0 or beyond the values in range.
    pub fn at_rank(&self, rank: u64) -> Option<Bucket> {
        if rank == 0 || rank > self.count - self.overflow {
            return None;
        }
        let mut below = 0;
        let index = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        let (low, high) = self.geometry.bounds(index);
        Some(Bucket { low: low.max(self.min), high: high.min(self.max), count: self.counts[index] })
    }

    /// Nearest-rank quantile: upper end of the bucket with rank ⌈q·n⌉.
    /// `None` when empty or when it falls among overflown values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.at_rank(quantile::rank(q, self.count)).map(|bucket| bucket.high)
    }

    /// Values greater than `bound`, counting a bucket that straddles it as not greater.
    ///
    /// Overflown values count as greater unless `bound` is at least the exact maximum.
    pub fn count_above(&self, bound: u64) -> u64 {
        if bound >= self.max {
            return 0;
        }
        let first = (self.geometry.index(bound) + 1).min(self.counts.len());
        self.overflow + self.counts[first..].iter().sum::<u64>()
    }

    /// Values of the buckets whose upper ends lie in [`from`, `to`), without overflow.
    pub fn count_between(&self, from: u64, to: u64) -> u64 {
        let place = |bound| self.geometry.index(bound).min(self.counts.len());
        self.counts[place(from)..place(to.max(from))].iter().sum()
    }

    /// Non-empty buckets in ascending order, without overflow. Their ends are those of the geometry,
    /// not capped by the exact extremes.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(index, &count)| {
            let (low, high) = self.geometry.bounds(index);
            Bucket { low, high, count }
        })
    }
}
