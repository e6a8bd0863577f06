//! What a page is made from: the summary, the plan, and what changed over the time of each trial.
//!
//! A page sees nothing else, so that every page can be made again later from the run folder.

use std::collections::BTreeMap;
use std::io::{self, Read};

use record::event::Event;
use record::summary::Summary;
use record::{OperationWindow, RawSample};
use stats::Histogram;

/// A run, as pages see it.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// `summary.json`.
    pub summary: Summary,
    /// `plan.json`.
    pub plan: serde_json::Value,
    /// In the order of execution.
    pub trials: Vec<TrialRecord>,
}

/// One trial over its time.
#[derive(Debug, Clone, Default)]
pub struct TrialRecord {
    /// Its number, from 1.
    pub index: u32,
    /// Windows in order, `all` first and then each operation.
    pub windows: Vec<WindowRow>,
    /// Percentile spectrum of the response time of each operation, `all` included.
    pub spectra: BTreeMap<String, Vec<SpectrumPoint>>,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// One operation in one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowRow {
    /// Number of the window, from 0.
    pub window: u64,
    /// The operation; `all` for the total.
    pub operation: String,
    /// Due in it.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// By intended start.
    pub response_time: Option<WindowTimes>,
    /// By finish.
    pub service_time: Option<WindowTimes>,
}

/// What a window's histogram says, to 1/128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowTimes {
    /// Values.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Exact greatest value.
    pub max_ns: u64,
}

/// A point of a percentile spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPoint {
    /// The fraction, in [0, 1].
    pub q: f64,
    /// The value there.
    pub value_ns: u64,
    /// Values up to and including it.
    pub total: u64,
}

/// The larger files of a run folder, for formats that pass them through. Paths are relative to the
/// run folder.
pub trait Sources {
    /// Opens a file for reading.
    ///
    /// Errors: `NotFound` if the run folder has no such file
    fn open(&self, path: &str) -> io::Result<Box<dyn Read + '_>>;

    /// The raw samples of a trial, in the order in which they were written.
    ///
    /// Errors: `NotFound` if the run was made without them
    fn samples(&self, trial: u32)
    -> io::Result<Box<dyn Iterator<Item = io::Result<RawSample>> + '_>>;
}

impl WindowRow {
    /// The row of one operation's part of a window.
    pub fn new(window: u64, operation: &str, part: &OperationWindow) -> Self {
        let failed = part.failed.iter().map(|(kind, count)| (kind.name().to_owned(), *count));
        Self {
            window,
            operation: operation.to_owned(),
            planned: part.planned,
            succeeded: part.succeeded,
            failed: failed.collect(),
            missed: part.missed,
            response_time: part.response_time.as_ref().and_then(WindowTimes::of),
            service_time: part.service_time.as_ref().and_then(WindowTimes::of),
        }
    }

    /// Ended badly, of any kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}

impl WindowTimes {
    /// `None` for an empty histogram. A quantile beyond the histogram's range reads as its maximum.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let max_ns = histogram.max();
        (histogram.count() > 0).then(|| Self {
            count: histogram.count(),
            p50_ns: histogram.quantile(0.5).unwrap_or(max_ns),
            p99_ns: histogram.quantile(0.99).unwrap_or(max_ns),
            max_ns,
        })
    }
}

/// The spectrum of a histogram: five points for each halving of the distance to 100 %.
pub fn spectrum(histogram: &Histogram) -> Vec<SpectrumPoint> {
    let total = histogram.count();
    let mut points = Vec::new();
    let mut seen = 0;
    let mut next = 0.0;
    for bucket in histogram.buckets() {
        seen += bucket.count;
        let q = seen as f64 / total as f64;
        if q >= next {
            points.push(SpectrumPoint { q, value_ns: bucket.high, total: seen });
            next = q + tick(q);
        }
    }
    points
}

/// Distance from `q` to the next point, one fifth of half the way that is left.
fn tick(q: f64) -> f64 {
    const TICKS_PER_HALF: f64 = 5.0;
    (1.0 - q) / 2.0 / TICKS_PER_HALF
}
