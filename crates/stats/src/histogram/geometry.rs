//! Which bucket a value falls into, and which values a bucket holds.

use super::RANGE_BITS;

/// Buckets of grouping power g over `0..2^RANGE_BITS`: (2^(g+1) + (RANGE_BITS − g − 1)·2^g) of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    grouping_power: u32,
}

impl Geometry {
    pub(crate) fn new(grouping_power: u32) -> Self {
        assert!(grouping_power < RANGE_BITS, "a grouping power below {RANGE_BITS}");
        Self { grouping_power }
    }

    pub(crate) fn grouping_power(self) -> u32 {
        self.grouping_power
    }

    pub(crate) fn buckets(self) -> usize {
        ((RANGE_BITS - self.grouping_power + 1) as usize) << self.grouping_power
    }

    /// The bucket of a value; at or beyond [`Self::buckets`] when the value is out of range.
    #[inline]
    pub(crate) fn index(self, value: u64) -> usize {
        // Setting bit g lets small values share the formula of the others: their shift is 0.
        let shift = 63 - (value | 1 << self.grouping_power).leading_zeros() - self.grouping_power;
        ((shift as usize) << self.grouping_power) + (value >> shift) as usize
    }

    /// Least and greatest value of a bucket.
    pub(crate) fn bounds(self, index: usize) -> (u64, u64) {
        let shift = (index >> self.grouping_power).saturating_sub(1);
        let low = ((index - (shift << self.grouping_power)) as u64) << shift;
        (low, low + ((1 << shift) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_those_of_h2_with_two_digits() {
        let coarse = Geometry::new(7);
        let known = [
            (0, 0),
            (255, 255),
            (256, 256),
            (257, 256),
            (258, 257),
            (511, 383),
            (512, 384),
            (1_000_000, 1780),
        ];
        for (value, index) in known {
            assert_eq!(coarse.index(value), index, "value {value}");
        }
        assert_eq!(coarse.buckets(), 3_968);
    }

    #[test]
    fn indices_are_those_of_h2_with_three_digits() {
        let fine = Geometry::new(10);
        for (value, index) in [(2048, 2048), (2049, 2048), (2050, 2049), (1_000_000, 11_169)] {
            assert_eq!(fine.index(value), index, "value {value}");
        }
        assert_eq!(fine.buckets(), 28_672);
    }

    #[test]
    fn every_bucket_begins_where_the_one_before_ends() {
        for power in [7, 10] {
            let geometry = Geometry::new(power);
            let mut next = 0;
            for index in 0..geometry.buckets() {
                let (low, high) = geometry.bounds(index);
                assert_eq!(low, next);
                assert_eq!((geometry.index(low), geometry.index(high)), (index, index));
                next = high + 1;
            }
            assert_eq!(next, 1 << RANGE_BITS);
            assert_eq!(geometry.index(next), geometry.buckets());
        }
    }
}
