//! A histogram in the form that a summary shows: moments, and quantiles with their grade.

use record::OperationTotals;
use record::summary::{Distribution, Grade, Quantile};
use stats::Histogram;
use stats::dispersion::Dispersion;
use stats::quantile::{self, Estimate};

/// The quantiles of every distribution.
pub const LISTED: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The values of a distribution; some operations may have none.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The values that are known.
    pub times: &'a Histogram,
    /// Operations slower than all of them.
    pub without_time: u64,
    /// Confidence of intervals.
    pub confidence: f64,
}

impl<'a> Values<'a> {
    /// Only operations with a time; intervals of 95 %.
    pub fn all(times: &'a Histogram) -> Self {
        Self { times, without_time: 0, confidence: quantile::CONFIDENCE }
    }

    /// Response times, with operations that never succeeded as slower than all others; intervals of 95 %.
    pub fn outcomes(totals: &'a OperationTotals) -> Self {
        Self { without_time: totals.without_time(), ..Self::all(&totals.response_time) }
    }

    /// The same with intervals of this confidence.
    pub fn at_level(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    fn count(&self) -> u64 {
        self.times.count() + self.without_time
    }

    /// The listed quantiles as thresholds of a series; `None` where there is no value.
    pub fn thresholds(&self) -> [Option<u64>; LISTED.len()] {
        LISTED.map(|q| self.at_quantile(q))
    }

    /// The value at a quantile, by nearest rank; `None` among operations without a time.
    pub fn at_quantile(&self, q: f64) -> Option<u64> {
        self.at(quantile::rank(q, self.count()))
    }

    fn at(&self, rank: u64) -> Option<u64> {
        self.times.at_rank(rank).map(|bucket| bucket.high)
    }

    /// The distribution, with one dispersion per listed quantile.
    pub fn describe(&self, dispersions: &[Dispersion; LISTED.len()]) -> Distribution {
        let times = self.times;
        let quantiles =
            LISTED.iter().zip(dispersions).map(|(&q, dispersion)| self.quantile(q, dispersion));
        Distribution {
            count: self.count(),
            min_ns: times.min(),
            mean_ns: times.mean().round() as u64,
            max_ns: times.max(),
            stdev_ns: times.stdev().round() as u64,
            overflow: times.overflow(),
            dispersion: dispersions[0].phi,
            quantiles: quantiles.collect(),
        }
    }

    /// One quantile. The interval is rounded outwards to edges of buckets.
    pub fn quantile(&self, q: f64, dispersion: &Dispersion) -> Quantile {
        let estimate = Estimate::at_level(q, self.count(), dispersion, self.confidence);
        let claimed = estimate.grade != quantile::Grade::Refused;
        let low = estimate.interval.low.filter(|_| claimed);
        let high = estimate.interval.high.filter(|_| claimed);
        Quantile {
            q,
            observed_ns: self.at(estimate.rank),
            low_ns: low.and_then(|rank| self.times.at_rank(rank)).map(|bucket| bucket.low),
            high_ns: high.and_then(|rank| self.at(rank)),
            support: estimate.support,
            grade: match estimate.grade {
                quantile::Grade::Supported => Grade::Supported,
                quantile::Grade::Indicative => Grade::Indicative,
                quantile::Grade::Refused => Grade::Refused,
            },
        }
    }
}
