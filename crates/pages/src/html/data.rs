//! The data of the charts.

use std::collections::{BTreeMap, BTreeSet};

use record::folder::names;
use record::hgrm::SpectrumLine;
use record::summary::{
    CapacityStep, Finding, Grade, Item, ItemRange, Model, StepResult, Summary, TrialSummary,
    Validity,
};
use serde::Serialize;

use super::{forest, percentiles};
use judge::run_record::{RunRecord, TrialRecord, WindowRow, WindowTimes};
use plan::number;

/// The data of all charts.
#[derive(Serialize)]
struct Data {
    trials: Vec<Charts>,
    /// Percentiles of all arms.
    arms: Vec<percentiles::Chart>,
    /// Over all trials of several arms.
    against: Vec<ItemChart>,
    shifts: Vec<ShiftChart>,
    curve: Option<Curve>,
}

/// Response time against rate, from the steps of a search. Times in milliseconds.
#[derive(Serialize)]
struct Curve {
    low: Option<f64>,
    high: Option<f64>,
    rate: Vec<f64>,
    p50: Vec<Option<f64>>,
    /// p99 of steps that met the criteria.
    passed: Vec<Option<f64>>,
    /// p99 of steps that did not meet them, or were undecided.
    other: Vec<Option<f64>>,
}

/// Response time against a number in the answers. Times in milliseconds.
#[derive(Serialize)]
struct ItemChart {
    item: String,
    /// Position of each point: the middle of its range, or the mean number of a trial; ascending.
    x: Vec<f64>,
    p50: Vec<f64>,
    p95: Vec<f64>,
    count: Vec<u64>,
    /// Whether the trial of each point says anything about the target.
    valid: Vec<bool>,
}

/// A range of a trial that a finding is about, in seconds.
#[derive(Serialize)]
struct Mark {
    code: String,
    from: f64,
    to: f64,
}

/// Ratio by quantile of two levels.
#[derive(Serialize)]
struct ShiftChart {
    title: String,
    labels: Vec<String>,
    ratio: Vec<f64>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

/// The charts of one trial. Times in milliseconds, instants in seconds.
#[derive(Serialize)]
struct Charts {
    trial: u32,
    what: &'static str,
    /// Up to this 1/(1−q), quantiles are supported.
    supported: f64,
    spectra: Vec<Spectrum>,
    t: Vec<f64>,
    p50: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    planned: Vec<f64>,
    succeeded: Vec<f64>,
    /// Of streams: the time to the first event, and gaps.
    streams: Vec<TimesChart>,
    failures: BTreeMap<String, Vec<f64>>,
    marks: Vec<Mark>,
    against: Vec<ItemChart>,
}

#[derive(Serialize)]
struct TimesChart {
    title: &'static str,
    about: &'static str,
    p50: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Spectrum {
    operation: String,
    x: Vec<f64>,
    ms: Vec<f64>,
}

/// JSON for a script element: nothing in it can end the element.
pub fn script(run: &RunRecord) -> String {
    let trials = run.summary.arms.iter().flat_map(|arm| &arm.trials);
    let trials = trials
        .filter_map(|trial| {
            let record = run.trials.iter().find(|record| record.index == trial.index)?;
            let marks = run.summary.findings.iter().filter(|one| one.trial == Some(trial.index));
            let marks = marks.flat_map(|finding| marked(finding, trial)).collect();
            Some(Charts { marks, ..charts(trial, record) })
        })
        .collect();
    let summary = &run.summary;
    let (against, curve) = (item_charts_over_arms(summary), curve(summary));
    let arms = percentiles::charts(run);
    let data = Data { trials, arms, against, shifts: shifts(summary), curve };
    let json = serde_json::to_string(&data).unwrap_or_else(|_| "{}".to_owned());
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Rates in ascending order; without invalid trials, which say nothing about the target.
fn curve(summary: &Summary) -> Option<Curve> {
    let capacity = summary.capacity.as_ref()?;
    let told =
        |step: &&CapacityStep| !matches!(step.result, StepResult::Invalid | StepResult::Stopped);
    let mut steps: Vec<&CapacityStep> = capacity.steps.iter().filter(told).collect();
    steps.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let ms = |value: Option<u64>| value.map(|ns| ns as f64 / 1e6);
    let p99 = |passed: bool| {
        let of = |step: &&CapacityStep| {
            ms(step.p99_ns).filter(|_| (step.result == StepResult::Pass) == passed)
        };
        steps.iter().map(of).collect::<Vec<_>>()
    };
    Some(Curve {
        low: capacity.low,
        high: capacity.high,
        rate: steps.iter().map(|step| step.rate).collect(),
        p50: steps.iter().map(|step| ms(step.p50_ns)).collect(),
        passed: p99(true),
        other: p99(false),
    })
}

/// Fewer points are easier to read in the table.
const LEAST: usize = 3;

/// Position, measured range, and whether its trial is not invalid.
type Placed = (f64, ItemRange, bool);

/// One for each number that spreads over three powers of two or more.
fn item_charts(trial: &TrialSummary) -> Vec<ItemChart> {
    let spread = items(trial).filter(|(_, item)| item.ranges.len() >= LEAST);
    let points = |range: &ItemRange| (middle(range.from, range.below), *range, true);
    spread
        .map(|(name, item)| {
            ItemChart::of(name, &item.ranges.iter().map(points).collect::<Vec<_>>())
        })
        .collect()
}

/// Each point is a range of a trial. Where arms differ in the number, a trial has a single value of it, which is then
/// the position.
fn item_charts_over_arms(summary: &Summary) -> Vec<ItemChart> {
    if summary.arms.len() < 2 {
        return Vec::new();
    }
    let mut points: BTreeMap<String, Vec<Placed>> = BTreeMap::new();
    for trial in summary.arms.iter().flat_map(|arm| &arm.trials) {
        let is_valid = trial.validity != Validity::Invalid;
        for (name, item) in items(trial) {
            let x = |range: &ItemRange| match item.ranges.len() {
                1 => item.per_operation_mean,
                _ => middle(range.from, range.below),
            };
            let told = item.ranges.iter().map(|range| (x(range), *range, is_valid));
            points.entry(name).or_default().extend(told.filter(|point| point.0 > 0.0));
        }
    }
    let mut charts = Vec::new();
    for (name, mut points) in points {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.chunk_by(|a, b| a.0 == b.0).count() >= LEAST {
            charts.push(ItemChart::of(name, &points));
        }
    }
    charts
}

impl ItemChart {
    fn of(item: String, points: &[Placed]) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            item,
            x: points.iter().map(|point| point.0).collect(),
            p50: points.iter().map(|point| ms(point.1.p50_ns)).collect(),
            p95: points.iter().map(|point| ms(point.1.p95_ns)).collect(),
            count: points.iter().map(|point| point.1.count).collect(),
            valid: points.iter().map(|point| point.2).collect(),
        }
    }
}

/// Numbers in the answers, named `operation item`.
fn items(trial: &TrialSummary) -> impl Iterator<Item = (String, &Item)> {
    trial.operations.iter().flat_map(|operation| {
        operation.items.iter().map(move |(name, item)| (format!("{} {name}", operation.name), item))
    })
}

/// The first range begins at 0, which has no position on a logarithmic axis.
fn middle(from: f64, below: f64) -> f64 {
    if from > 0.0 { (from * below).sqrt() } else { below / 2.0 }
}

/// The places of a finding in the measure phase, by the names of its evidence.
fn marked(finding: &Finding, trial: &TrialSummary) -> Vec<Mark> {
    /// More marks than this would fill the chart.
    const MOST: usize = 60;
    let end = trial.phases.measure_ns as f64 / 1e9;
    let seconds = |name: &str| finding.evidence.get(name)?.as_f64().map(|ns| ns / 1e9);
    let mark = |from: f64, to: f64| Mark { code: finding.code.clone(), from, to: to.min(end) };
    if let (Some(period), Some(first)) = (seconds("period_ns"), seconds("first_at_ns")) {
        let length = seconds("length_ns").unwrap_or(0.0);
        let starts = (0..MOST).map(|nth| first + nth as f64 * period);
        return starts
            .take_while(|from| *from < end)
            .map(|from| mark(from, from + length))
            .collect();
    }
    if let Some(until) = seconds("transient_ns") {
        return vec![mark(0.0, until)];
    }
    let from = seconds("from_ns").into_iter();
    from.map(|from| mark(from, seconds("to_ns").unwrap_or(end))).collect()
}

/// One for each pair of levels: all of its time metrics have the same shift function.
fn shifts(summary: &Summary) -> Vec<ShiftChart> {
    let mut charts: Vec<ShiftChart> = Vec::new();
    for one in summary.comparisons.iter().filter(|one| !one.shift.is_empty()) {
        let title = forest::title(one);
        if charts.iter().all(|chart| chart.title != title) {
            charts.push(ShiftChart {
                title,
                labels: one.shift.iter().map(|point| number::percentile(point.q)).collect(),
                ratio: one.shift.iter().map(|point| point.ratio).collect(),
                low: one.shift.iter().map(|point| point.low).collect(),
                high: one.shift.iter().map(|point| point.high).collect(),
            });
        }
    }
    charts
}

fn charts(trial: &TrialSummary, record: &TrialRecord) -> Charts {
    // The drain also has windows, in which nothing was due: these would look like a drop in the rate.
    let start = |row: &WindowRow| row.window * trial.window_ns;
    let is_measured =
        |row: &&WindowRow| row.operation == names::ALL && start(row) < trial.phases.measure_ns;
    let rows: Vec<&WindowRow> = record.windows.iter().filter(is_measured).collect();
    let seconds =
        |row: &WindowRow| trial.window_ns.min(trial.phases.measure_ns - start(row)) as f64 / 1e9;
    let open = trial.load.model == Model::Open;
    let times = |row: &WindowRow| if open { row.response_time } else { row.service_time };
    let series = |part: fn(WindowTimes) -> u64| {
        rows.iter().map(|row| times(row).map(|times| part(times) as f64 / 1e6)).collect()
    };
    let rate = |part: fn(&WindowRow) -> u64| {
        rows.iter().map(|row| part(row) as f64 / seconds(row)).collect::<Vec<_>>()
    };
    Charts {
        trial: trial.index,
        what: if open { "response time" } else { "service time" },
        supported: supported(trial),
        spectra: spectra(record, trial.operations.len() == 1),
        t: rows.iter().map(|row| start(row) as f64 / 1e9).collect(),
        p50: series(|times| times.p50_ns),
        p99: series(|times| times.p99_ns),
        planned: rate(|row| row.planned),
        succeeded: rate(|row| row.succeeded),
        streams: streams(&rows),
        failures: failures(&rows, &seconds),
        marks: Vec::new(),
        against: item_charts(trial),
    }
}

/// None for a load without streams.
fn streams(rows: &[&WindowRow]) -> Vec<TimesChart> {
    type Times = fn(&WindowRow) -> Option<WindowTimes>;
    let charts: [(&str, &str, Times); 2] = [
        (
            "Time to the first event over time",
            "By the window in which operations were due.",
            |row| row.first_event,
        ),
        ("Gaps between events over time", "By the window in which operations finished.", |row| {
            row.gap
        }),
    ];
    let charts = charts.into_iter().map(|(title, about, times)| {
        let series = |part: fn(WindowTimes) -> u64| {
            rows.iter().map(|row| times(row).map(|times| part(times) as f64 / 1e6)).collect()
        };
        let (p50, p99) = (series(|times| times.p50_ns), series(|times| times.p99_ns));
        TimesChart { title, about, p50, p99 }
    });
    charts.filter(|chart| chart.p50.iter().any(Option::is_some)).collect()
}

/// The total is left out if there is only one operation.
fn spectra(record: &TrialRecord, single: bool) -> Vec<Spectrum> {
    let shown = record.spectra.iter().filter(|(name, _)| !(single && *name == names::ALL));
    shown.map(|(name, lines)| spectrum(name, lines)).collect()
}

fn failures(
    rows: &[&WindowRow],
    seconds: &dyn Fn(&WindowRow) -> f64,
) -> BTreeMap<String, Vec<f64>> {
    let kinds: BTreeSet<&String> = rows.iter().flat_map(|row| row.failed.keys()).collect();
    let over_time = |count: &dyn Fn(&WindowRow) -> u64| {
        rows.iter().map(|row| count(row) as f64 / seconds(row)).collect::<Vec<_>>()
    };
    let mut all: BTreeMap<String, Vec<f64>> = kinds
        .into_iter()
        .map(|kind| (kind.clone(), over_time(&|row| row.failed.get(kind).copied().unwrap_or(0))))
        .collect();
    if rows.iter().any(|row| row.missed > 0) {
        all.insert("missed or abandoned".to_owned(), over_time(&|row| row.missed));
    }
    all
}

fn supported(trial: &TrialSummary) -> f64 {
    let quantiles = trial.total.response_time.quantiles.iter();
    let claimed = quantiles.filter(|entry| entry.grade == Grade::Supported).map(|entry| entry.q);
    1.0 / (1.0 - claimed.fold(0.0, f64::max))
}

fn spectrum(operation: &str, lines: &[SpectrumLine]) -> Spectrum {
    let last = lines.last().map_or(1, |line| line.cumulative).max(1) as f64;
    Spectrum {
        operation: operation.to_owned(),
        // The greatest value has nothing beyond it, so it is drawn where one in all of them lies beyond.
        x: lines.iter().map(|line| (1.0 / (1.0 - line.quantile)).min(last)).collect(),
        ms: lines.iter().map(|line| line.value_ns as f64 / 1e6).collect(),
    }
}
