//! Histograms in messages of windows: the buckets that are not empty as numbers of variable length, in base64.
//!
//! A coordinator reads thousands of them a second, and the codec of HdrHistogram takes ten times as long. Not here: the
//! files of a run, which other tools can read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::{COARSE, FINE, Histogram};

/// Grouping power, extremes, sums, then for each bucket how many indices it is beyond the one before, and its count.
fn encode(histogram: &Histogram) -> String {
    let mut bytes = Vec::with_capacity(1024);
    let extremes = [u64::from(histogram.grouping_power()), histogram.min(), histogram.max()];
    extremes.into_iter().for_each(|number| put(&mut bytes, u128::from(number)));
    put(&mut bytes, histogram.sum());
    put(&mut bytes, histogram.sum_of_squares());
    let mut next = 0;
    for (index, count) in histogram.counts() {
        put(&mut bytes, (index - next) as u128);
        put(&mut bytes, u128::from(count));
        next = index + 1;
    }
    STANDARD_NO_PAD.encode(&bytes)
}

/// `None` if it is no histogram.
fn decode(text: &str) -> Option<Histogram> {
    let bytes = STANDARD_NO_PAD.decode(text).ok()?;
    let mut rest = &bytes[..];
    let grouping_power = u32::try_from(take(&mut rest)?).ok()?;
    if !(COARSE..=FINE).contains(&grouping_power) {
        return None;
    }
    let extremes = (small(&mut rest)?, small(&mut rest)?);
    let sums = (take(&mut rest)?, take(&mut rest)?);
    let (mut next, mut is_whole) = (0_usize, false);
    let counts = std::iter::from_fn(|| {
        is_whole = rest.is_empty();
        if is_whole {
            return None;
        }
        let index = next.checked_add(usize::try_from(small(&mut rest)?).ok()?)?;
        next = index.checked_add(1)?;
        Some((index, small(&mut rest)?))
    });
    let mut histogram = Histogram::of_counts(grouping_power, counts)?;
    histogram.restore_moments(extremes, sums);
    is_whole.then_some(histogram)
}

/// Seven bits a byte, the lowest first; all but the last have the highest bit set.
fn put(bytes: &mut Vec<u8>, mut number: u128) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0;
    for shift in (0..u128::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u128::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn small(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers have one byte.
    match bytes.split_first()? {
        (byte, rest) if *byte < 0x80 => {
            *bytes = rest;
            Some(u64::from(*byte))
        }
        _ => u64::try_from(take(bytes)?).ok(),
    }
}

pub(crate) fn serialize<S: Serializer>(one: &Option<Histogram>, to: S) -> Result<S::Ok, S::Error> {
    one.as_ref().map(encode).serialize(to)
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Histogram>, D::Error> {
    let Some(text) = Option::<std::borrow::Cow<'d, str>>::deserialize(from)? else {
        return Ok(None);
    };
    decode(&text).map(Some).ok_or_else(|| D::Error::custom("the histogram cannot be decoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(grouping_power: u32, values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new(grouping_power);
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn what_is_read_equals_what_was_written() {
        let spread = (0..5_000).map(|n: u64| n * n * 40_000);
        let edges = [0, 1, 255, 256, 1 << 36, (1 << 37) - 1, 1 << 37, u64::MAX, u64::MAX];
        for power in [COARSE, FINE] {
            for one in [
                histogram(power, spread.clone()),
                histogram(power, edges),
                histogram(power, []),
                histogram(power, [7; 300]),
            ] {
                assert_eq!(decode(&encode(&one)), Some(one));
            }
        }
        let mut many = histogram(COARSE, []);
        many.record_n(u64::MAX, u64::MAX);
        assert_eq!(decode(&encode(&many)), Some(many));
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let whole = encode(&histogram(COARSE, [1_000, 2_000_000, 3_000_000_000]));
        let bytes = STANDARD_NO_PAD.decode(&whole).unwrap();
        let read = |bytes: &[u8]| decode(&STANDARD_NO_PAD.encode(bytes));
        let ends: Vec<usize> =
            (0..bytes.len()).filter(|&end| read(&bytes[..end]).is_some()).collect();
        // After the sums, and after each bucket but the last: the counts of the rest are missing, which nothing shows.
        assert_eq!(ends.len(), 3, "{ends:?}");
        let with = |buckets: &[u128]| {
            let mut bytes = vec![7, 0, 0, 0, 0];
            buckets.iter().for_each(|&number| put(&mut bytes, number));
            read(&bytes)
        };
        assert!(with(&[3_968, 1]).is_some(), "overflow");
        assert_eq!(with(&[3_969, 1]), None);
        assert_eq!(with(&[u128::MAX, 1]), None);
        assert_eq!(with(&[u128::from(u64::MAX), 1, 0, 1]), None);
        assert_eq!(with(&[0, u128::from(u64::MAX), 0, 1]), None);
        assert_eq!(read(&[200, 1, 0, 0, 0, 0]), None, "no such geometry");
        assert_eq!(read(&[0xff; 40]), None);
        assert_eq!(decode("?"), None);
        assert_eq!(decode(""), None);
    }
}
