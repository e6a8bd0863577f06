//! Order and bounds within a distribution: A4 to A8, A14, A17.

use record::summary::{Distribution, Grade, TrialSummary};
use stats::quantile;

use super::context::{Context, operations};
use super::times::{self, Approximate, TimeFigures};

/// Quantiles are upper edges of buckets, which are at most this part of the value wide.
const BUCKET: f64 = 1.0 / 1024.0;

/// Observed quantiles with their ranks, ascending.
fn ranked(distribution: &Distribution) -> impl Iterator<Item = (f64, f64)> + '_ {
    let count = distribution.count as f64;
    distribution.quantiles.iter().filter_map(move |entry| {
        let rank = (entry.q.next_down() * count).ceil().max(1.0);
        Some((rank, entry.observed_ns? as f64))
    })
}

/// The known figures of the times: all to the nanosecond, quantiles to the width of a bucket.
fn known(distribution: &Distribution, before: f64) -> TimeFigures {
    let exact = |ns: u64| Some(Approximate { value: ns as f64 / 1e9, step: 1e-9 });
    let count = distribution.count as f64;
    let quantile = |(rank, ns): (f64, f64)| {
        ((rank - before) / count, Approximate { value: ns / 1e9, step: ns / 1e9 * BUCKET + 1e-9 })
    };
    TimeFigures {
        min: exact(distribution.min_ns),
        mean: exact(distribution.mean_ns),
        stdev: exact(distribution.stdev_ns),
        max: exact(distribution.max_ns),
        quantiles: ranked(distribution).map(quantile).collect(),
        share_slack: 0.0,
    }
}

/// A4: minimum, quantiles and maximum ascend, to the nanosecond since one histogram holds them all; mean and median
/// are within their possible range.
pub fn order(distribution: &Distribution) -> Option<String> {
    let mut before = distribution.min_ns as f64;
    let last = (distribution.count as f64, distribution.max_ns as f64);
    for (rank, value) in ranked(distribution).chain([last]) {
        if value < before {
            return Some(format!("{value} ns at rank {rank} after {before} ns"));
        }
        before = value;
    }
    let mut times = known(distribution, 0.0);
    // The median's rank comes from its quantile, whatever share of the count that is.
    times.quantiles = median(distribution).into_iter().collect();
    times::order(&times).map(|broken| broken.claim)
}

fn median(distribution: &Distribution) -> Option<(f64, Approximate)> {
    let ns = distribution.quantiles.iter().find(|entry| entry.q == 0.5)?.observed_ns? as f64;
    Some((0.5, Approximate { value: ns / 1e9, step: ns / 1e9 * BUCKET + 1e-9 }))
}

/// A5: the mean lies between the means that the quantiles allow.
pub fn mean_band(distribution: &Distribution) -> Option<String> {
    let times = Some(known(distribution, 0.0)).filter(|_| distribution.overflow == 0)?;
    let broken = times::mean_above(&times).or_else(|| times::mean_below(&times))?;
    Some(broken.claim)
}

/// A6: Markov's and Cantelli's bounds of a quantile. The values at or above it include the one at its rank.
pub fn moment_bounds(distribution: &Distribution) -> Option<String> {
    let times = Some(known(distribution, 1.0)).filter(|_| distribution.overflow == 0)?;
    times::moments(&times).map(|broken| broken.claim)
}

/// A7: nothing is clipped: values beyond the range have no quantile, and no tail piles up at the time-out.
pub fn saturation(trial: &TrialSummary, context: &Context) -> Option<String> {
    operations(trial).find_map(|operation| {
        let distribution = &operation.response_time;
        let in_range = distribution.count.saturating_sub(distribution.overflow) as f64;
        if let Some((rank, value)) = ranked(distribution).find(|(rank, _)| *rank > in_range) {
            return Some(format!(
                "{}: {value} ns at rank {rank} is beyond the range",
                operation.name
            ));
        }
        let at = |q| distribution.quantiles.iter().find(|entry| entry.q == q)?.observed_ns;
        let (p99, p999) = (at(0.99)?, at(0.999)?);
        let limit = context.timeout_ns?;
        // Of a hundred values or fewer, the p99 is the maximum itself, and one value is no pile.
        let several = quantile::rank(0.99, distribution.count) < distribution.count;
        let piled = several
            && p99 == p999
            && p999 == distribution.max_ns
            && p99.abs_diff(limit) <= limit / 1000;
        piled.then(|| format!("{}: p99, p99.9 and maximum are the time-out", operation.name))
    })
}

/// A8: support, grade, interval and observed value of each quantile are consistent.
pub fn support(distribution: &Distribution) -> Option<String> {
    let count = distribution.count as f64;
    distribution.quantiles.iter().find_map(|entry| {
        let q = entry.q;
        // 1000·(1 − 0.99) is a little under 10 in binary.
        let support = entry.support * (1.0 + 1e-6);
        let enough = match entry.grade {
            Grade::Supported => support >= 10.0,
            Grade::Indicative => support >= 3.0,
            Grade::Refused => entry.low_ns.is_none() && entry.high_ns.is_none(),
        };
        if !enough {
            return Some(format!(
                "quantile {q} claims more than its support {} allows",
                entry.support
            ));
        }
        if entry.support > count * (1.0 - q) * 1.001 + 1e-9 {
            return Some(format!("support {} of quantile {q} exceeds its tail", entry.support));
        }
        let value = entry.observed_ns?;
        let outside = entry.low_ns.is_some_and(|low| low > value)
            || entry.high_ns.is_some_and(|high| high < value);
        outside.then(|| format!("quantile {q}: {value} ns lies outside of its own interval"))
    })
}

/// A14: a quantile of the whole lies between those of its parts, and is not their average.
pub fn merged(trial: &TrialSummary) -> Option<String> {
    let parts: Vec<_> = trial.operations.iter().filter(|one| one.succeeded > 0).collect();
    if parts.is_empty() {
        return None;
    }
    let mut averaged = 0;
    for entry in &trial.total.response_time.quantiles {
        let of_parts: Option<Vec<f64>> = parts
            .iter()
            .map(|part| {
                let same = part.response_time.quantiles.iter().find(|other| other.q == entry.q);
                same?.observed_ns.map(|value| value as f64)
            })
            .collect();
        let (Some(values), Some(whole)) = (of_parts, entry.observed_ns) else { continue };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let whole = whole as f64;
        if whole < least * (1.0 - BUCKET) - 1.0 || whole > most * (1.0 + BUCKET) + 1.0 {
            return Some(format!(
                "quantile {} of the total is outside of its operations'",
                entry.q
            ));
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        averaged += usize::from(most > least * 1.02 && (whole - mean).abs() <= mean * 1e-6);
    }
    (averaged >= 3).then(|| "quantiles of the total are averages of its operations'".to_owned())
}

/// A17: values of a nanosecond clock are not all whole milliseconds.
pub fn resolution(distribution: &Distribution) -> Option<String> {
    const MILLISECOND: u64 = 1_000_000;
    let exact = [distribution.min_ns, distribution.max_ns, distribution.mean_ns];
    let coarse = exact.iter().all(|value| value % MILLISECOND == 0);
    (coarse && distribution.min_ns < distribution.max_ns)
        .then(|| "least, greatest and mean value are whole milliseconds".to_owned())
}
