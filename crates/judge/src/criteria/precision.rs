//! `--adaptive`: whether the intervals of a trial are narrow enough to end its measure phase.
//!
//! The check covers the quantiles of response and service time that criteria name; if they name none, p50 and p99 of
//! the response time. An interval is narrow enough when half its width is at most 5 % of the observed value (10 %
//! beyond p99) and the quantile is supported. Its confidence level allows for all checks of a trial.
//!
//! A quarter of an hour has many windows, and their histograms would take much memory. So after the first minute,
//! dispersion is counted at the quantiles of that minute: it says how far operations are from independent draws, and
//! not where a quantile is.

use std::borrow::Cow;

use plan::adaptive::CONFIDENCE;
use plan::criterion::{Criterion, Metric, TOTAL, Time};
use plan::plan::{Arm, Plan};
use record::summary::{Grade, Quantile};
use record::{Window, WindowSpan};
use stats::{COARSE, Histogram};

use super::long_windows::span_of;
use super::scope::{Scope, parts, scope};
use crate::distribution::Values;
use crate::window_series::WindowSeries;
use plan::number;

/// Quantiles that are checked where no criterion names one.
const USUAL: [f64; 2] = [0.5, 0.99];

/// Lower quantiles, whose dispersion is used where few operations lie beyond a checked one.
const LOWER: [f64; 4] = [0.5, 0.75, 0.9, 0.95];

/// Half the width of an interval that is narrow enough, as a share of the observed value.
fn wished(q: f64) -> f64 {
    if q <= 0.99 { 0.05 } else { 0.1 }
}

/// The checked quantiles of one trial, and its windows so far.
#[derive(Debug)]
pub struct Precision {
    series: Vec<QuantileSeries>,
}

/// Windows whose histograms are kept: up to this number, each check counts dispersion at its own quantiles.
const KEPT: usize = 60;

/// One time of one operation, or of all, with its checked quantiles.
#[derive(Debug)]
struct QuantileSeries {
    operation: String,
    scope: Scope,
    span: WindowSpan,
    quantiles: Vec<f64>,
    /// Of all windows together.
    all: Collected,
    /// The first windows, until they are counted.
    kept: Vec<Collected>,
    /// Every window, counted at the quantiles of the first ones.
    counted: Option<WindowSeries>,
}

/// The times of one window, or of several.
#[derive(Debug, Default)]
struct Collected {
    times: Option<Histogram>,
    lost: u64,
}

impl Precision {
    /// An empty record for a trial of this arm.
    pub fn new(plan: &Plan, arm: &Arm) -> Self {
        let names = arm.names();
        let mut precision = Self { series: Vec::new() };
        for criterion in &plan.criteria {
            let operation = criterion.operation.as_deref();
            let Some(scope) = scope(&names, operation) else { continue };
            // Other times are not kept by window.
            let seen = matches!(criterion.time, Time::Response | Time::Service);
            if let Metric::Quantile(q) = criterion.metric
                && seen
            {
                precision.look_at(operation.unwrap_or(TOTAL), scope, span_of(&criterion.time), q);
            }
        }
        if precision.series.is_empty() {
            for q in USUAL {
                precision.look_at(TOTAL, None, WindowSpan::ResponseTime, q);
            }
        }
        precision
    }

    fn look_at(&mut self, operation: &str, scope: Scope, span: WindowSpan, q: f64) {
        let known = self.series.iter_mut().find(|one| (one.scope, one.span) == (scope, span));
        match known {
            Some(series) if series.quantiles.contains(&q) => {}
            Some(series) => series.quantiles.push(q),
            None => self.series.push(QuantileSeries {
                operation: operation.to_owned(),
                scope,
                span,
                quantiles: vec![q],
                all: Collected::default(),
                kept: Vec::new(),
                counted: None,
            }),
        }
    }

    /// Adds a closed window of the trial.
    pub fn add(&mut self, window: &Window) {
        for series in &mut self.series {
            series.add(window);
        }
    }

    /// The quantile that a criterion names, with the interval that the closed windows allow; `None` where it names none,
    /// or one of a time that windows do not keep.
    pub fn of(&self, criterion: &Criterion) -> Option<Quantile> {
        let Metric::Quantile(q) = criterion.metric else { return None };
        if !matches!(criterion.time, Time::Response | Time::Service) || criterion.over.is_some() {
            return None;
        }
        let operation = criterion.operation.as_deref().unwrap_or(TOTAL);
        let span = span_of(&criterion.time);
        let mut series = self.series.iter();
        let series = series.find(|one| one.operation == operation && one.span == span)?;
        series.estimates().into_iter().find(|one| one.q.to_bits() == q.to_bits())
    }

    /// The precision that was reached, in one sentence; `None` if one interval is not narrow enough.
    pub fn found(&self) -> Option<String> {
        let mut found = Vec::new();
        for series in &self.series {
            for shown in series.estimates() {
                let half = half_width(&shown).filter(|half| *half <= wished(shown.q))?;
                if shown.grade != Grade::Supported {
                    return None;
                }
                let operation = if series.scope.is_none() { "" } else { &series.operation };
                let percentile = number::percentile(shown.q);
                let named = format!("{operation} {percentile}");
                found.push(format!("{} is known to ±{}", named.trim(), number::percent(half)));
            }
        }
        Some(found.join(", "))
    }
}

/// Half the width of an interval as a share of the observed value.
fn half_width(shown: &Quantile) -> Option<f64> {
    let (low, high) = (shown.low_ns? as f64, shown.high_ns? as f64);
    let observed = shown.observed_ns.filter(|observed| *observed > 0)? as f64;
    Some((high - low) / 2.0 / observed)
}

impl QuantileSeries {
    fn add(&mut self, window: &Window) {
        let Ok(number) = usize::try_from(window.number) else { return };
        if number >= KEPT && self.counted.is_none() {
            self.counted = Some(self.counts());
            self.kept = Vec::new();
        }
        if self.counted.is_none() && self.kept.len() <= number {
            self.kept.resize_with(number + 1, Collected::default);
        }
        for part in parts(window, self.scope) {
            let (times, lost) = (part.histogram(self.span), part.without_time());
            self.all.add(times, lost);
            match &mut self.counted {
                Some(counted) => counted.add(window.number, times, lost),
                None => self.kept[number].add(times, lost),
            }
        }
    }

    /// Quantiles whose dispersion is counted, ascending.
    fn levels(&self) -> Vec<f64> {
        let mut levels = [&LOWER[..], &self.quantiles].concat();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        levels
    }

    /// Counts the kept windows at the current quantiles.
    fn counts(&self) -> WindowSeries {
        let times = self.all.times();
        let values = self.all.values(&times);
        let levels = self.levels();
        let mut counts = WindowSeries::new(levels.iter().map(|&q| values.at_quantile(q)));
        for (number, seen) in (0..).zip(&self.kept) {
            counts.add(number, seen.times.as_ref(), seen.lost);
        }
        counts
    }

    fn estimates(&self) -> Vec<Quantile> {
        let levels = self.levels();
        let counts = match &self.counted {
            Some(counted) => Cow::Borrowed(counted),
            None => Cow::Owned(self.counts()),
        };
        let times = self.all.times();
        let values = self.all.values(&times);
        let wanted = levels.iter().enumerate().filter(|(_, q)| self.quantiles.contains(q));
        wanted.map(|(place, &q)| values.quantile(q, &counts.dispersion(place))).collect()
    }
}

impl Collected {
    fn add(&mut self, times: Option<&Histogram>, lost: u64) {
        self.lost += lost;
        if let Some(times) = times {
            self.times.get_or_insert_with(|| Histogram::new(COARSE)).merge(times);
        }
    }

    fn times(&self) -> Cow<'_, Histogram> {
        self.times.as_ref().map_or_else(|| Cow::Owned(Histogram::new(COARSE)), Cow::Borrowed)
    }

    fn values<'a>(&self, times: &'a Histogram) -> Values<'a> {
        Values { times, without_time: self.lost, confidence: CONFIDENCE }
    }
}

#[cfg(test)]
mod tests;
