//! What a sample says of a quantile: its rank, the ranks of its interval, and how much may be claimed.
//!
//! Ranks are 1-based places in the sorted sample; the values behind them come from a
//! [`Histogram`](crate::Histogram), or from nowhere when a rank falls among operations without a time.

#[cfg(test)]
mod tests;

use crate::binomial::Binomial;
use crate::dispersion::Dispersion;
use crate::special::{normal_quantile, student_quantile};

/// Confidence of every interval of a quantile.
pub const CONFIDENCE: f64 = 0.95;
/// Effective tail events from which a quantile is supported.
pub const SUPPORTED_FROM: f64 = 10.0;
/// Effective tail events from which a quantile is at least indicative.
pub const INDICATIVE_FROM: f64 = 3.0;
/// Windows below which dispersion is known too badly for a supported quantile.
pub const WINDOWS_NEEDED: usize = 16;

/// How much of a quantile may be claimed of the system, beyond the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// E ≥ 10 and at least 16 windows.
    Supported,
    /// E ≥ 3.
    Indicative,
    /// A fact about this sample only.
    Refused,
}

/// Ranks that enclose the quantile of the system with the confidence asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// `None`: even the least value is no lower bound.
    pub low: Option<u64>,
    /// `None`: even the greatest value is no upper bound.
    pub high: Option<u64>,
}

/// One quantile of a sample, as ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The fraction.
    pub q: f64,
    /// Nearest rank of the observed value; 0 in an empty sample.
    pub rank: u64,
    /// The interval, of 95 % unless asked otherwise. Outward rounding is the reader's: lower bucket edge at `low`, upper at `high`.
    pub interval: Ranks,
    /// Effective number of tail events, E = n(1 − q)/φ.
    pub support: f64,
    /// What may be claimed.
    pub grade: Grade,
}

impl Estimate {
    /// The quantile `q` of `n` values whose windows vary with this dispersion.
    pub fn new(q: f64, n: u64, dispersion: &Dispersion) -> Self {
        Self::at_level(q, n, dispersion, CONFIDENCE)
    }

    /// The same with an interval of another confidence: higher where it is looked at more than once.
    pub fn at_level(q: f64, n: u64, dispersion: &Dispersion, confidence: f64) -> Self {
        let support = n as f64 * (1.0 - q) / dispersion.phi;
        Self {
            q,
            rank: rank(q, n),
            interval: widened_ranks(q, n, dispersion, confidence),
            support,
            grade: Grade::of(support, dispersion.windows),
        }
    }

    /// Values that would support this quantile at this dispersion: 10·φ/(1 − q).
    pub fn needed(q: f64, dispersion: &Dispersion) -> u64 {
        // Taken up to a millionth lower, so that 10/(1 − 0.99) is 1,000 and not 1,001.
        (SUPPORTED_FROM * dispersion.phi / (1.0 - q) * (1.0 - 1e-6)).ceil() as u64
    }
}

impl Grade {
    /// The grade of E effective tail events over this many windows.
    pub fn of(support: f64, windows: usize) -> Self {
        // A hair of tolerance: 1000·(1 − 0.99) is a little under 10 in binary.
        let support = support * (1.0 + 1e-9);
        if support >= SUPPORTED_FROM && windows >= WINDOWS_NEEDED {
            Self::Supported
        } else if support >= INDICATIVE_FROM {
            Self::Indicative
        } else {
            Self::Refused
        }
    }
}

/// Nearest rank ⌈q·n⌉ of a quantile, at least 1 and at most n; 0 when n is 0.
///
/// q is taken one step of floating point lower: 0.07·100 is a little over 7 in binary, and its rank is 7.
///
/// Units:  `q` is a fraction; the rank is 1-based
/// Source: HdrHistogram does the same in `getValueAtPercentile`
pub fn rank(q: f64, n: u64) -> u64 {
    ((q.next_down() * n as f64).ceil() as u64).max(1).min(n)
}

/// Ranks of the equal-tailed interval of the `q`-quantile from `n` independent values.
///
/// B ~ Bin(n, q): low = max{i: P(B ≤ i − 1) ≤ α/2}, high = min{i: P(B ≥ i) ≤ α/2}. Exact up to a variance
/// of 10^10, the normal form beyond.
///
/// Shape:  `q` and `confidence` in (0, 1)
/// Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1
pub fn independent_ranks(q: f64, n: u64, confidence: f64) -> Ranks {
    const EXACT_UP_TO: f64 = 1e10;
    let tail = (1.0 - confidence) / 2.0;
    let variance = n as f64 * q * (1.0 - q);
    if variance > EXACT_UP_TO {
        return normal_ranks(q, n, normal_quantile(1.0 - tail) * variance.sqrt());
    }
    let binomial = Binomial::new(n, q);
    Ranks::within(n, binomial.lower_rank(tail), binomial.upper_rank(tail))
}

/// Ranks of the interval with dependence: nq ∓ t·√(n·q·(1−q)·φ), never narrower than for
/// independent values, and theirs where enough windows show no dispersion.
fn widened_ranks(q: f64, n: u64, dispersion: &Dispersion, confidence: f64) -> Ranks {
    if n == 0 {
        return Ranks { low: None, high: None };
    }
    let exact = independent_ranks(q, n, confidence);
    let shows_none = dispersion.phi <= 1.0 && dispersion.windows >= WINDOWS_NEEDED;
    if shows_none || dispersion.blocks < 2 {
        return exact;
    }
    let t = student_quantile((dispersion.blocks - 1) as f64, 1.0 - (1.0 - confidence) / 2.0);
    let wide = normal_ranks(q, n, t * (n as f64 * q * (1.0 - q) * dispersion.phi).sqrt());
    Ranks {
        low: exact.low.zip(wide.low).map(|(a, b)| a.min(b)),
        high: exact.high.zip(wide.high).map(|(a, b)| a.max(b)),
    }
}

fn normal_ranks(q: f64, n: u64, half_width: f64) -> Ranks {
    let middle = n as f64 * q;
    Ranks::within(n, (middle - half_width).floor() as u64, (middle + half_width).ceil() as u64 + 1)
}

impl Ranks {
    fn within(n: u64, low: u64, high: u64) -> Self {
        Self { low: Some(low).filter(|&low| low >= 1), high: Some(high).filter(|&high| high <= n) }
    }
}
