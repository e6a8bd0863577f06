//! Times of succeeded operations in buckets of other programs: exponential ones and a few fixed ones.
//!
//! A bucket of ours goes whole into the bucket that contains its upper end. It is at most 1/128 of its value wide and an
//! exponential one 1/46, so a value is in its own exponential bucket or in the next greater one.

use std::collections::BTreeMap;

use stats::Histogram;

/// Each power of two is split into 2^5 buckets, which are 2.2 % wide.
pub const SCHEMA: i32 = 5;
/// Values up to this many seconds are in the bucket of zero: those of 0 ns alone.
pub const ZERO_THRESHOLD: f64 = f64::from_bits((1023 - 128) << 52);
/// Upper ends of the fixed buckets, in seconds; one more has no upper end.
pub const BOUNDS: [f64; 18] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0, 60.0,
];

const NANOSECOND: f64 = 1e-9;

/// Times that only become more.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Values of zero.
    pub zero: u64,
    /// By exponential bucket: number i has values in (2^((i-1)/32), 2^(i/32)] seconds.
    pub exponential: BTreeMap<i32, u64>,
    /// By fixed bucket, not cumulative; those beyond the last bound are only in `count`.
    fixed: [u64; BOUNDS.len()],
    /// All values.
    pub count: u64,
    sum_ns: u128,
}

/// Buckets that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Of the first span, the number of its first bucket; of others, how many buckets lie between it and the one before.
    pub offset: i32,
    /// How many buckets.
    pub length: u32,
}

impl Times {
    /// Adds a window's times, in nanoseconds.
    pub fn add(&mut self, histogram: &Histogram) {
        for bucket in histogram.buckets() {
            self.put(bucket.high, bucket.count);
        }
        // Of values beyond the range nothing is known but that none is greater than the greatest.
        self.put(histogram.max(), histogram.overflow());
        self.sum_ns += histogram.sum();
    }

    fn put(&mut self, high_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let seconds = high_ns as f64 * NANOSECOND;
        self.count += count;
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.fixed[bucket] += count;
        }
        match high_ns {
            0 => self.zero += count,
            _ => *self.exponential.entry(bucket_of(seconds)).or_default() += count,
        }
    }

    /// Sum in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_ns as f64 * NANOSECOND
    }

    /// For each of [`BOUNDS`], how many values are at most that.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.fixed.iter().scan(0, |below, count| {
            *below += count;
            Some(*below)
        });
        BOUNDS.iter().copied().zip(counts)
    }

    /// The exponential buckets as spans, and the differences between the counts of one bucket and the one before.
    pub fn spans(&self) -> (Vec<Span>, Vec<i64>) {
        let (mut spans, mut deltas): (Vec<Span>, Vec<i64>) = Default::default();
        let (mut next, mut before) = (0, 0);
        for (&number, &count) in &self.exponential {
            match spans.last_mut() {
                Some(span) if number == next => span.length += 1,
                _ => spans.push(Span { offset: number - next, length: 1 }),
            }
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            deltas.push(count - before);
            (next, before) = (number + 1, count);
        }
        (spans, deltas)
    }
}

/// The exponential bucket of a positive number of seconds.
fn bucket_of(seconds: f64) -> i32 {
    let guess = (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32;
    // The logarithm may be off by its last bit, which matters at the ends of buckets alone.
    match guess {
        guess if seconds > upper_end(guess) => guess + 1,
        guess if seconds <= upper_end(guess - 1) => guess - 1,
        guess => guess,
    }
}

/// The greatest number of seconds in an exponential bucket.
pub fn upper_end(bucket: i32) -> f64 {
    (f64::from(bucket) / f64::from(1 << SCHEMA)).exp2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stats::COARSE;

    use super::*;

    fn times(values: &[u64]) -> Times {
        let mut histogram = Histogram::new(COARSE);
        values.iter().for_each(|value| histogram.record(*value));
        let mut times = Times::default();
        times.add(&histogram);
        times
    }

    #[test]
    fn powers_of_two_are_the_upper_ends_of_their_buckets() {
        for (seconds, bucket) in [(1.0, 0), (2.0, 32), (4.0, 64), (0.5, -32), (0.25, -64)] {
            assert_eq!(bucket_of(seconds), bucket);
            assert_eq!(bucket_of(f64::from_bits(seconds.to_bits() + 1)), bucket + 1);
        }
    }

    #[test]
    fn a_value_beyond_the_range_is_counted_where_it_can_be_at_most() {
        let times = times(&[0, 200_000_000_000]);
        assert_eq!((times.zero, times.count), (1, 2));
        assert_eq!(times.exponential.keys().copied().collect::<Vec<_>>(), [bucket_of(200.0)]);
        assert_eq!(times.cumulative().last(), Some((60.0, 1)));
    }

    #[test]
    fn spans_leave_out_what_is_empty() {
        let mut times = Times::default();
        for (bucket, count) in [(-3, 4), (-2, 1), (5, 2), (6, 2), (7, 9)] {
            times.exponential.insert(bucket, count);
        }
        let spans = vec![Span { offset: -3, length: 2 }, Span { offset: 6, length: 3 }];
        assert_eq!(times.spans(), (spans, vec![4, -3, 1, 0, 7]));
    }

    proptest! {
        #[test]
        fn a_value_is_in_its_bucket_or_in_the_next_greater_one(value in 1_u64..(1 << 40)) {
            let times = times(&[value]);
            let (&bucket, &count) = times.exponential.first_key_value().expect("it is counted");
            prop_assert_eq!((count, times.count, times.zero), (1, 1, 0));
            let own = bucket_of(value as f64 * NANOSECOND);
            prop_assert!(bucket == own || bucket == own + 1, "{} {}", bucket, own);
            let seconds = value as f64 * NANOSECOND;
            prop_assert!(upper_end(own - 1) < seconds && seconds <= upper_end(own));
        }

        #[test]
        fn nothing_is_lost_and_cumulative_counts_grow(values in prop::collection::vec(0_u64..(1 << 39), 1..200)) {
            let times = times(&values);
            let (spans, deltas) = times.spans();
            let lengths: u32 = spans.iter().map(|span| span.length).sum();
            prop_assert_eq!(lengths as usize, deltas.len());
            let counts = deltas.iter().scan(0, |count, delta| { *count += delta; Some(*count) });
            let all: i64 = counts.sum();
            prop_assert_eq!(all as u64 + times.zero, values.len() as u64);
            let cumulative: Vec<u64> = times.cumulative().map(|(_, count)| count).collect();
            prop_assert!(cumulative.is_sorted() && cumulative.last() <= Some(&times.count));
            for (bound, below) in times.cumulative() {
                let exactly = values.iter().filter(|value| **value as f64 * NANOSECOND <= bound).count();
                prop_assert!(below <= exactly as u64);
            }
        }

        #[test]
        fn runs_add_up(first in prop::collection::vec(0_u64..(1 << 36), 0..50), second in prop::collection::vec(0_u64..(1 << 36), 0..50)) {
            let mut together = times(&first);
            let mut histogram = Histogram::new(COARSE);
            second.iter().for_each(|value| histogram.record(*value));
            together.add(&histogram);
            let all = times(&[first, second].concat());
            prop_assert_eq!(together.exponential, all.exponential);
            prop_assert_eq!(together.sum_ns, all.sum_ns);
        }
    }
}
