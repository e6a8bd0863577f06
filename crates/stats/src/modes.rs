//! Two ways of being served: modes of a histogram with a valley between them.

use crate::Histogram;

/// Bins of a power of two: 9 % wide each.
const PER_OCTAVE: f64 = 8.0;
/// Weights of a bin and its neighbours when peaks are looked for: chance must not make a peak.
const SMOOTHING: [f64; 5] = [1.0, 2.0, 3.0, 2.0, 1.0];
/// Fewer values have no shape.
const FEWEST: u64 = 200;
/// Each mode holds this share of the values or more.
const LEAST_SHARE: f64 = 0.05;
/// The valley is at most this part of the lower peak.
const DEEPEST: f64 = 0.3;

/// Two modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Where the lower one has its peak, in nanoseconds.
    pub low_ns: u64,
    /// Where the higher one has it.
    pub high_ns: u64,
    /// Between them, where the fewest values are.
    pub valley_ns: u64,
    /// Share of the values above the valley.
    pub high_share: f64,
    /// The fewest values between them, over those of the lower peak.
    pub depth: f64,
}

impl Modes {
    /// How clearly there are two, in [0, 1]: 1 with nothing between them and as many values in either.
    pub fn clearness(&self) -> f64 {
        (1.0 - self.depth) * 2.0 * self.high_share.min(1.0 - self.high_share)
    }
}

/// The two modes of a distribution, if it has two: their peaks a factor of two apart or more, each with 5 % of the
/// values or more, and between them less than three tenths of the lower peak.
///
/// Source: ours; a histogram on a logarithmic scale, smoothed over five bins
pub fn two(times: &Histogram) -> Option<Modes> {
    if times.count() < FEWEST {
        return None;
    }
    let bins = bins(times);
    let smooth = smoothed(&bins);
    let highest = (0..smooth.len()).max_by(|&a, &b| smooth[a].total_cmp(&smooth[b]))?;
    let candidates = (0..smooth.len()).filter(|&other| is_peak(&smooth, other));
    let pairs = candidates.filter(|&other| other.abs_diff(highest) >= PER_OCTAVE as usize);
    let found =
        pairs.filter_map(|other| between(times, &smooth, highest.min(other), highest.max(other)));
    found.min_by(|a, b| a.depth.total_cmp(&b.depth))
}

/// The modes at these two peaks, if they are two.
fn between(times: &Histogram, smooth: &[f64], low: usize, high: usize) -> Option<Modes> {
    let lowest = smooth[low..=high].iter().copied().fold(f64::INFINITY, f64::min);
    let flat: Vec<usize> = (low..=high).filter(|&bin| smooth[bin] <= lowest).collect();
    let valley = flat[flat.len() / 2];
    let peak = smooth[low].min(smooth[high]);
    let valley_ns = start_of(valley);
    let above = times.count_above(valley_ns);
    let high_share = above as f64 / times.count() as f64;
    let depth = lowest / peak;
    let clear = depth <= DEEPEST && peak - lowest > 4.0 * (lowest + 1.0).sqrt();
    let both = (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&high_share);
    let (low_ns, high_ns) = (middle_of(low), middle_of(high));
    (clear && both).then_some(Modes { low_ns, high_ns, valley_ns, high_share, depth })
}

fn bins(times: &Histogram) -> Vec<f64> {
    let mut bins = vec![0.0; bin_of(1 << crate::RANGE_BITS) + 1];
    for bucket in times.buckets() {
        bins[bin_of(bucket.low + (bucket.high - bucket.low) / 2)] += bucket.count as f64;
    }
    bins
}

fn smoothed(bins: &[f64]) -> Vec<f64> {
    let reach = SMOOTHING.len() / 2;
    let whole: f64 = SMOOTHING.iter().sum();
    let at = |place: usize| {
        let near = SMOOTHING.iter().enumerate().filter_map(|(offset, weight)| {
            Some(weight * bins.get((place + offset).checked_sub(reach)?)?)
        });
        near.sum::<f64>() / whole
    };
    (0..bins.len()).map(at).collect()
}

fn is_peak(smooth: &[f64], place: usize) -> bool {
    let here = smooth[place];
    let before = place.checked_sub(1).map_or(0.0, |place| smooth[place]);
    here > 0.0 && here >= before && here >= smooth.get(place + 1).copied().unwrap_or(0.0)
}

fn bin_of(value: u64) -> usize {
    ((value.max(1) as f64).log2() * PER_OCTAVE) as usize
}

fn start_of(bin: usize) -> u64 {
    (bin as f64 / PER_OCTAVE).exp2() as u64
}

fn middle_of(bin: usize) -> u64 {
    ((bin as f64 + 0.5) / PER_OCTAVE).exp2() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FINE;

    const MS: f64 = 1e6;

    /// The quantiles of an exponential with this mean beyond an offset.
    fn exponential(offset: f64, mean: f64, many: u32) -> impl Iterator<Item = u64> {
        (0..many).map(move |k| {
            let q = (f64::from(k) + 0.5) / f64::from(many);
            (offset - (1.0 - q).ln() * mean) as u64
        })
    }

    fn times(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new(FINE);
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn two_modes_are_found_with_their_shares() {
        let hits = exponential(MS, 0.2 * MS, 8_000);
        let misses = exponential(20.0 * MS, 2.0 * MS, 2_000);
        let modes = two(&times(hits.chain(misses))).unwrap();
        assert!((modes.low_ns as f64 / (1.05 * MS) - 1.0).abs() < 0.15, "{modes:?}");
        assert!((modes.high_ns as f64 / (20.5 * MS) - 1.0).abs() < 0.15, "{modes:?}");
        assert!((modes.high_share - 0.2).abs() < 0.01, "{modes:?}");
    }

    #[test]
    fn modes_are_clear_as_they_are_apart_and_alike_in_weight() {
        let made = |between: u32, misses: u32| {
            let hits = exponential(MS, 0.2 * MS, 5_000);
            let misses = exponential(20.0 * MS, 2.0 * MS, misses);
            let between = (0..between).map(|k| 2_000_000 + u64::from(k) * 16_000);
            two(&times(hits.chain(misses).chain(between))).unwrap()
        };
        let clear = made(0, 5_000);
        assert!(clear.depth == 0.0 && clear.clearness() > 0.99, "{clear:?}");
        let (few, blurred) = (made(0, 500), made(1_000, 5_000));
        assert!((few.clearness() - 2.0 / 11.0).abs() < 0.01, "{few:?}");
        assert!(blurred.depth > 0.0 && blurred.clearness() < clear.clearness(), "{blurred:?}");
    }

    #[test]
    fn one_mode_is_one_however_long_its_tail() {
        for one in
            [times(exponential(0.0, 5.0 * MS, 20_000)), times(exponential(MS, 0.1 * MS, 500))]
        {
            assert_eq!(two(&one), None);
        }
        // Log-normal by a sum of uniforms, spread over two decades.
        let wide = (0..20_000_u64).map(|k| {
            let bits = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let part = |shift: u32| (bits >> shift & 0xffff) as f64 / 65_536.0;
            ((part(0) + part(16) + part(32) + part(48) - 2.0) * 2.0 + 15.0).exp() as u64
        });
        assert_eq!(two(&times(wide)), None);
    }

    #[test]
    fn a_mode_of_few_values_is_a_tail() {
        let few = exponential(20.0 * MS, MS, 300);
        assert_eq!(two(&times(exponential(MS, 0.2 * MS, 9_700).chain(few))), None);
        assert_eq!(two(&times([1, 1_000_000].repeat(90))), None, "too few for a shape");
    }
}
