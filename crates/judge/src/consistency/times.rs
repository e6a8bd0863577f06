//! Rules on mean, quantiles, extremes and deviation of one distribution of times, for reports of any tool.
//!
//! A figure is known to a step: our own to the width of a bucket, printed ones to their last digit. Not here: which
//! figures a summary or a foreign report has, and how severe a contradiction is (see `audit`).

use plan::number::{duration, percentile};

/// A time in seconds; the true time is less than a `step` away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Approximate {
    /// The time.
    pub value: f64,
    /// The greatest possible error.
    pub step: f64,
}

impl Approximate {
    fn low(self) -> f64 {
        self.value - self.step
    }

    fn high(self) -> f64 {
        self.value + self.step
    }
}

/// The known figures of the times of some operations. A rule that needs an unknown figure is skipped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeFigures {
    /// The least.
    pub min: Option<Approximate>,
    /// The mean.
    pub mean: Option<Approximate>,
    /// The standard deviation.
    pub stdev: Option<Approximate>,
    /// The greatest.
    pub max: Option<Approximate>,
    /// Ascending shares of operations, each with the time that none of them exceeds.
    pub quantiles: Vec<(f64, Approximate)>,
    /// The greatest possible error of such a share.
    pub share_slack: f64,
}

/// Figures that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The contradiction, as text.
    pub claim: String,
    /// The numbers, in milliseconds, by name.
    pub evidence: Vec<(&'static str, f64)>,
}

impl Conflict {
    fn new(claim: String) -> Self {
        Self { claim, evidence: Vec::new() }
    }

    fn with(mut self, name: &'static str, seconds: f64) -> Self {
        self.evidence.push((name, seconds * 1e3));
        self
    }
}

/// A time as text.
fn time(seconds: f64) -> String {
    duration((seconds.max(0.0) * 1e9).round() as u64)
}

/// R01: the greatest mean that the quantiles allow: each share is as slow as the quantile at its end.
pub fn mean_above(times: &TimeFigures) -> Option<Conflict> {
    let (mean, max) = (times.mean?, times.max?);
    let first = times.quantiles.first()?;
    let (mut bound, mut step, mut before) = (0.0, 0.0, 0.0);
    for (q, value) in times.quantiles.iter().copied().chain([(1.0, max)]) {
        bound += (q - before) * value.value;
        step += (q - before) * value.step;
        before = q;
    }
    let least = times.min.map_or(0.0, |min| min.value).min(first.1.value);
    let slack = times.share_slack * (max.high() - least) + step;
    (mean.low() > bound + slack).then(|| {
        let factor = mean.value / bound;
        Conflict::new(format!(
            "the mean {} cannot be: these percentiles and this maximum allow {} at most ({factor:.1} times less)",
            time(mean.value),
            time(bound)
        ))
        .with("mean_ms", mean.value)
        .with("bound_ms", bound)
    })
}

/// R02: the least mean that the quantiles allow: each share is as fast as the quantile at its beginning.
pub fn mean_below(times: &TimeFigures) -> Option<Conflict> {
    let mean = times.mean?;
    let last = times.quantiles.last()?.1;
    let min = times.min.unwrap_or(Approximate { value: 0.0, step: 0.0 });
    let (mut bound, mut step) = (0.0, 0.0);
    let begins = std::iter::once((0.0, min)).chain(times.quantiles.iter().copied());
    let ends = times.quantiles.iter().map(|(q, _)| *q).chain([1.0]);
    for ((q, value), end) in begins.zip(ends) {
        bound += (end - q) * value.value;
        step += (end - q) * value.step;
    }
    let slack = times.share_slack * (last.high() - min.value) + step;
    (mean.high() < bound - slack).then(|| {
        Conflict::new(format!(
            "the mean {} cannot be: these percentiles allow {} at least",
            time(mean.value),
            time(bound)
        ))
        .with("mean_ms", mean.value)
        .with("bound_ms", bound)
    })
}

/// R03: minimum, quantiles and maximum ascend; mean and median are within their possible range.
pub fn order(times: &TimeFigures) -> Option<Conflict> {
    let quantiles = times.quantiles.iter().map(|(q, value)| (percentile(*q), *value));
    let min = times.min.map(|min| ("minimum".to_owned(), min));
    let max = times.max.map(|max| ("maximum".to_owned(), max));
    let all: Vec<(String, Approximate)> = min.into_iter().chain(quantiles).chain(max).collect();
    let descends = all.windows(2).find(|pair| pair[0].1.low() > pair[1].1.high());
    if let Some([(lower, below), (upper, above)]) = descends {
        let claim = format!("{lower} {} is above {upper} {}", time(below.value), time(above.value));
        let broken = Conflict::new(claim);
        return Some(broken.with("lower_ms", below.value).with("upper_ms", above.value));
    }
    let mean = times.mean?;
    let below =
        times.min.filter(|min| mean.high() < min.low()).map(|min| ("below the minimum", min));
    let above =
        times.max.filter(|max| mean.low() > max.high()).map(|max| ("above the maximum", max));
    if let Some((place, end)) = below.or(above) {
        let claim = format!("the mean {} is {place} {}", time(mean.value), time(end.value));
        return Some(Conflict::new(claim).with("mean_ms", mean.value));
    }
    let median = times.quantiles.iter().find(|(q, _)| (q - 0.5).abs() < 1e-9)?.1;
    let stdev = times.stdev?;
    let far = (median.value - mean.value).abs() - median.step - mean.step;
    (far > stdev.high() * (1.0 + 2.0 * times.share_slack)).then(|| {
        Conflict::new(format!(
            "the median {} is further from the mean {} than the standard deviation {}",
            time(median.value),
            time(mean.value),
            time(stdev.value)
        ))
    })
}

/// A6: Markov's and Cantelli's bounds of a quantile.
pub fn moments(times: &TimeFigures) -> Option<Conflict> {
    let mean = times.mean?;
    times.quantiles.iter().find_map(|(q, value)| {
        let above = 1.0 - q - times.share_slack;
        if above <= 0.0 {
            return None;
        }
        let markov = mean.high() / above;
        let cantelli = times.stdev.map_or(f64::INFINITY, |stdev| {
            mean.high() + stdev.high() * ((1.0 - above) / above).sqrt()
        });
        let bound = markov.min(cantelli);
        (value.low() > bound * (1.0 + 1e-9)).then(|| {
            Conflict::new(format!(
                "{} {} is more than its mean and deviation allow ({})",
                percentile(*q),
                time(value.value),
                time(bound)
            ))
            .with("bound_ms", bound)
        })
    })
}
