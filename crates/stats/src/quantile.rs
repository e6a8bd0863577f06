//! Ranks.

/// Nearest rank ⌈q·n⌉ of a quantile, at least 1 and at most n; 0 when n is 0.
///
/// q is taken one step of floating point lower: 0.07·100 is a little over 7 in binary, and its rank is 7.
///
/// Units:  `q` is a fraction; the rank is 1-based
/// Source: HdrHistogram does the same in `getValueAtPercentile`
pub fn rank(q: f64, n: u64) -> u64 {
    ((q.next_down() * n as f64).ceil() as u64).max(1).min(n)
}
