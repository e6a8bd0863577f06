//! The input of a page: the summary, the plan, and each trial over time.
//!
//! It is read from the run folder, so that every page can be made again later. Larger files, which some formats copy,
//! stay there.

mod arm_times;

use std::collections::BTreeMap;

use record::event::{Event, EventKind};
use record::folder::{RunReader, names};
use record::hgrm::SpectrumLine;
use record::summary::Summary;
use record::{MixNames, OperationWindow, RecordError, Window, WindowSpan};
use stats::{COARSE, Histogram};

pub use arm_times::{ArmTimes, Percentile, reported_trials};

/// A run, as input of a page.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// `summary.json`.
    pub summary: Summary,
    /// `plan.json`.
    pub plan: serde_json::Value,
    /// In the order of execution.
    pub trials: Vec<TrialRecord>,
    /// For a run with several arms, the times of each; in the order of the summary.
    pub arms: Vec<ArmTimes>,
}

/// One trial over its time.
#[derive(Debug, Clone, Default)]
pub struct TrialRecord {
    /// Its number, from 1.
    pub index: u32,
    /// In the order of windows; in each, every operation and then all together.
    pub windows: Vec<WindowRow>,
    /// Percentile spectrum of the response time of each operation, and of all together.
    pub spectra: BTreeMap<String, Vec<SpectrumLine>>,
    /// What happened, in order; without progress and closed windows.
    pub events: Vec<Event>,
}

/// One operation in one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowRow {
    /// Number of the window, from 0.
    pub window: u64,
    /// The operation; `all` for the total.
    pub operation: String,
    /// Operations due in it.
    pub planned: u64,
    /// Those of them that succeeded.
    pub succeeded: u64,
    /// Those of them that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Those of them that were never begun or were abandoned.
    pub missed: u64,
    /// By intended start.
    pub response_time: Option<WindowTimes>,
    /// By finish.
    pub service_time: Option<WindowTimes>,
    /// Of streams, by intended start.
    pub first_event: Option<WindowTimes>,
    /// Of streams, by finish.
    pub gap: Option<WindowTimes>,
}

/// Figures of a window's histogram, to 1/128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowTimes {
    /// Values.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Greatest value.
    pub max_ns: u64,
}

impl RunRecord {
    /// Reads a finished run.
    ///
    /// Errors: of the folder; a trial without windows or events is skipped
    pub fn read(reader: &RunReader<'_>) -> Result<Self, RecordError> {
        let summary = reader.summary()?;
        let mut trials = Vec::new();
        let stored = reader.trials();
        for trial in summary.arms.iter().flat_map(|arm| &arm.trials) {
            if stored.contains(&trial.index) {
                trials.push(TrialRecord::read(reader, trial.index, &trial.names())?);
            }
        }
        trials.sort_by_key(|trial| trial.index);
        // The trials of a search are at as many different rates.
        let together = summary.arms.len() > 1 && summary.capacity.is_none();
        let arms = summary.arms.iter().filter(|_| together);
        let arms = arms.filter_map(|arm| ArmTimes::read(reader, arm)).collect();
        Ok(Self { summary, plan: reader.plan()?, trials, arms })
    }
}

impl TrialRecord {
    /// Reads a trial, finished or not. `mix`: the names of its windows.
    ///
    /// Errors: of the folder
    pub fn read(reader: &RunReader<'_>, index: u32, mix: &MixNames) -> Result<Self, RecordError> {
        let mut rows = Rows::new(mix);
        reader.visit_windows(index, mix, &mut |window| rows.add(window))?;
        let mut spectra = BTreeMap::new();
        for name in
            mix.operations.iter().chain(&mix.journeys).map(String::as_str).chain([names::ALL])
        {
            // An operation that never succeeded has no spectrum.
            if let Ok(lines) = reader.spectrum(index, name) {
                spectra.insert(name.to_owned(), lines);
            }
        }
        let mut events = Vec::new();
        for event in reader.events(index)? {
            let event = event?;
            let many = matches!(event.kind, EventKind::Progress(_) | EventKind::WindowClosed(_));
            if !many {
                events.push(event);
            }
        }
        Ok(Self { index, windows: rows.finish(), spectra, events })
    }
}

/// Collects rows from windows that come in parts. Only the histograms of one window are in memory.
struct Rows {
    operations: Vec<String>,
    rows: BTreeMap<u64, Vec<WindowRow>>,
    /// The current window, with its histograms of all operations together.
    current: Option<u64>,
    all: [Option<Histogram>; WindowSpan::ALL.len()],
}

impl Rows {
    fn new(mix: &MixNames) -> Self {
        let names =
            mix.operations.iter().chain(&mix.journeys).cloned().chain([names::ALL.to_owned()]);
        Self {
            operations: names.collect(),
            rows: BTreeMap::new(),
            current: None,
            all: Default::default(),
        }
    }

    fn add(&mut self, window: &Window) {
        if self.current != Some(window.number) {
            self.close();
            self.current = Some(window.number);
        }
        let operations = &self.operations;
        let empty = || {
            let row = |name: &String| WindowRow {
                window: window.number,
                operation: name.clone(),
                ..WindowRow::default()
            };
            operations.iter().map(row).collect::<Vec<_>>()
        };
        let rows = self.rows.entry(window.number).or_insert_with(empty);
        let Some((all, each)) = rows.split_last_mut() else { return };
        let (operations, journeys) = each.split_at_mut(window.operations.len().min(each.len()));
        for (row, part) in journeys.iter_mut().zip(&window.journeys) {
            row.add_counts(part);
            row.add_times(WindowSpan::ALL.map(|span| part.histogram(span)));
        }
        for (row, part) in operations.iter_mut().zip(&window.operations) {
            row.add_counts(part);
            all.add_counts(part);
            row.add_times(WindowSpan::ALL.map(|span| part.histogram(span)));
            for (sum, span) in self.all.iter_mut().zip(WindowSpan::ALL) {
                if let Some(histogram) = part.histogram(span) {
                    sum.get_or_insert_with(|| Histogram::new(COARSE)).merge(histogram);
                }
            }
        }
    }

    fn close(&mut self) {
        let sums = std::mem::take(&mut self.all);
        let rows = self.current.and_then(|number| self.rows.get_mut(&number));
        if let Some(all) = rows.and_then(|rows| rows.last_mut()) {
            all.add_times(sums.each_ref().map(Option::as_ref));
        }
    }

    fn finish(mut self) -> Vec<WindowRow> {
        self.close();
        self.rows.into_values().flatten().collect()
    }
}

impl WindowRow {
    /// Failed operations, of any kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }

    fn add_counts(&mut self, part: &OperationWindow) {
        self.planned += part.planned;
        self.succeeded += part.succeeded;
        self.missed += part.missed;
        for (kind, count) in &part.failed {
            *self.failed.entry(kind.name().to_owned()).or_insert(0) += count;
        }
    }

    /// All times. If a window comes twice, the larger part counts, since quantiles of two histograms
    /// cannot be combined.
    fn add_times(&mut self, [response, service, first, gap]: [Option<&Histogram>; 4]) {
        let larger = |kept: Option<WindowTimes>, seen: Option<&Histogram>| {
            let seen = seen.and_then(WindowTimes::of);
            match (kept, seen) {
                (Some(kept), Some(seen)) if seen.count <= kept.count => Some(kept),
                (kept, seen) => seen.or(kept),
            }
        };
        self.response_time = larger(self.response_time, response);
        self.service_time = larger(self.service_time, service);
        self.first_event = larger(self.first_event, first);
        self.gap = larger(self.gap, gap);
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

#[cfg(test)]
mod tests;
