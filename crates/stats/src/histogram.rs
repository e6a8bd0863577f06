//! Counts by value bucket, in the geometry of HdrHistogram, with exact moments beside them.

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
pub struct Histogram {}

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
    pub fn new(_grouping_power: u32) -> Self {
        todo!()
    }

    /// Counts one value. No allocation, no lock.
    pub fn record(&mut self, _value: u64) {
        todo!()
    }

    /// Counts a value `count` times.
    pub fn record_n(&mut self, _value: u64, _count: u64) {
        todo!()
    }

    /// Adds another histogram of the same or a finer geometry, exactly.
    ///
    /// Panics: if `other` is coarser
    pub fn merge(&mut self, _other: &Self) {
        todo!()
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        todo!()
    }

    /// Grouping power.
    pub fn grouping_power(&self) -> u32 {
        todo!()
    }

    /// Values counted, overflow included.
    pub fn count(&self) -> u64 {
        todo!()
    }

    /// Values beyond the range.
    pub fn overflow(&self) -> u64 {
        todo!()
    }

    /// Exact least value, 0 when empty.
    pub fn min(&self) -> u64 {
        todo!()
    }

    /// Exact greatest value, 0 when empty.
    pub fn max(&self) -> u64 {
        todo!()
    }

    /// Exact sum.
    pub fn sum(&self) -> u128 {
        todo!()
    }

    /// Mean from the exact sum; 0 when empty.
    pub fn mean(&self) -> f64 {
        todo!()
    }

    /// Population standard deviation from the exact moments; 0 when empty.
    pub fn stdev(&self) -> f64 {
        todo!()
    }

    /// The bucket that holds the value of this rank (1-based), its upper end capped by the
    /// exact maximum and its lower end by the exact minimum.
    /// `None` if the rank is 0 or beyond the values in range.
    pub fn at_rank(&self, _rank: u64) -> Option<Bucket> {
        todo!()
    }

    /// Nearest-rank quantile: upper end of the bucket with rank ⌈q·n⌉.
    /// `None` when empty or when it falls among overflown values.
    pub fn quantile(&self, _q: f64) -> Option<u64> {
        todo!()
    }

    /// Values greater than `bound`, counting a bucket that straddles it as not greater.
    pub fn count_above(&self, _bound: u64) -> u64 {
        todo!()
    }

    /// Non-empty buckets in ascending order, without overflow.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        std::iter::empty()
    }
}
