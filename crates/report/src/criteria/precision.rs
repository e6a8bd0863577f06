//! `--adaptive`: whether the intervals of a trial are narrow enough to end its measure phase.
//!
//! Looked at are the quantiles of response and service time that criteria name, or p50 and p99 of the response time
//! where they name none. An interval is narrow enough when half its width is at most 5 % of what was observed
//! (10 % beyond p99) and the quantile is supported. It is one of the level that allows for all looks.

use plan::adaptive::CONFIDENCE;
use plan::criterion::{Metric, TOTAL, Time};
use plan::plan::{Arm, Plan};
use record::summary::{Grade, Quantile};
use record::{Window, WindowSpan};
use stats::dispersion::{Dispersion, WindowCount};
use stats::exceedance::LOWER;
use stats::{COARSE, Histogram};

use super::gather::{Place, parts, place};
use super::stretches::span_of;
use crate::number;
use crate::summarize::Values;

/// Quantiles that are looked at where no criterion names one.
const USUAL: [f64; 2] = [0.5, 0.99];

/// Half the width of a narrow interval, as a share of what was observed.
fn wished(q: f64) -> f64 {
    if q <= 0.99 { 0.05 } else { 0.1 }
}

/// The quantiles of one trial that are looked at, and its windows so far.
#[derive(Debug)]
pub struct Precision {
    series: Vec<Series>,
}

/// One time of one operation, or of all, with the quantiles that are looked at.
#[derive(Debug)]
struct Series {
    operation: String,
    place: Place,
    span: WindowSpan,
    quantiles: Vec<f64>,
    windows: Vec<Seen>,
}

/// What has been seen of one window.
#[derive(Debug, Default)]
struct Seen {
    times: Option<Histogram>,
    lost: u64,
}

impl Precision {
    /// Nothing seen yet of a trial of this arm.
    pub fn new(plan: &Plan, arm: &Arm) -> Self {
        let names: Vec<&str> = arm.operations.iter().map(|one| one.name.as_str()).collect();
        let mut precision = Self { series: Vec::new() };
        for criterion in &plan.criteria {
            let operation = criterion.operation.as_deref();
            let Some(place) = place(&names, operation) else { continue };
            // Other times are not kept by window.
            let seen = matches!(criterion.time, Time::Response | Time::Service);
            if let Metric::Quantile(q) = criterion.metric
                && seen
            {
                precision.look_at(operation.unwrap_or(TOTAL), place, span_of(&criterion.time), q);
            }
        }
        if precision.series.is_empty() {
            for q in USUAL {
                precision.look_at(TOTAL, None, WindowSpan::ResponseTime, q);
            }
        }
        precision
    }

    fn look_at(&mut self, operation: &str, place: Place, span: WindowSpan, q: f64) {
        let known = self.series.iter_mut().find(|one| (one.place, one.span) == (place, span));
        match known {
            Some(series) if series.quantiles.contains(&q) => {}
            Some(series) => series.quantiles.push(q),
            None => self.series.push(Series {
                operation: operation.to_owned(),
                place,
                span,
                quantiles: vec![q],
                windows: Vec::new(),
            }),
        }
    }

    /// A window of the trial has closed.
    pub fn add(&mut self, window: &Window) {
        for series in &mut self.series {
            series.add(window);
        }
    }

    /// What was found if every interval is narrow enough, in one sentence; `None` if one is not.
    pub fn found(&self) -> Option<String> {
        let mut found = Vec::new();
        for series in &self.series {
            for shown in series.estimates() {
                let half = half_width(&shown).filter(|half| *half <= wished(shown.q))?;
                if shown.grade != Grade::Supported {
                    return None;
                }
                let operation = if series.place.is_none() { "" } else { &series.operation };
                let percentile = number::percentile(shown.q);
                let named = format!("{operation} {percentile}");
                found.push(format!("{} is known to ±{}", named.trim(), number::percent(half)));
            }
        }
        Some(found.join(", "))
    }
}

/// Half the width of an interval as a share of what was observed.
fn half_width(shown: &Quantile) -> Option<f64> {
    let (low, high) = (shown.low_ns? as f64, shown.high_ns? as f64);
    let observed = shown.observed_ns.filter(|observed| *observed > 0)? as f64;
    Some((high - low) / 2.0 / observed)
}

impl Series {
    fn add(&mut self, window: &Window) {
        let Ok(number) = usize::try_from(window.number) else { return };
        if self.windows.len() <= number {
            self.windows.resize_with(number + 1, Seen::default);
        }
        let seen = &mut self.windows[number];
        for part in parts(window, self.place) {
            seen.lost += part.without_time();
            if let Some(times) = part.histogram(self.span) {
                seen.times.get_or_insert_with(|| Histogram::new(COARSE)).merge(times);
            }
        }
    }

    fn estimates(&self) -> impl Iterator<Item = Quantile> + '_ {
        let mut times = Histogram::new(COARSE);
        self.windows.iter().filter_map(|seen| seen.times.as_ref()).for_each(|one| times.merge(one));
        let without_time = self.windows.iter().map(|seen| seen.lost).sum();
        let independent = Dispersion::independent(self.windows.len());
        self.quantiles.iter().map(move |&q| {
            let values = Values { times: &times, without_time, confidence: CONFIDENCE };
            let lower = LOWER.into_iter().filter(|lower| *lower < q);
            let beyond = |q: f64| -> Vec<WindowCount> {
                let threshold = values.quantile(q, &independent).observed_ns;
                self.windows.iter().map(|seen| seen.beyond(threshold)).collect()
            };
            let counts: Vec<_> = lower.chain([q]).map(beyond).collect();
            values.quantile(q, &Dispersion::of_tail(&counts))
        })
    }
}

impl Seen {
    /// Operations of the window, and those beyond the threshold.
    fn beyond(&self, threshold: Option<u64>) -> WindowCount {
        let (total, above) = self.times.as_ref().map_or((0, 0), |times| {
            (times.count(), times.count_above(threshold.unwrap_or(u64::MAX)))
        });
        let mut count = WindowCount::default();
        count.add(total + self.lost, above + self.lost);
        count
    }
}

#[cfg(test)]
mod tests;
