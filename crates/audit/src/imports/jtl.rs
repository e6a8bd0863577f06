//! JMeter's results (JTL as CSV): one line for each request. The counts and times are computed
//! here, so the audit checks not arithmetic but conclusions.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::format::{self, Format, single};
use super::report::{MeasuredFrom, Period, Report, Row, Run};

pub(super) const FORMAT: Format = Format {
    name: "jtl",
    about: "JMeter's results as CSV, with their header",
    marks: &["timeStamp", "elapsed", "label", "success"],
    longest: format::REQUESTS,
    read,
};

const MILLI: f64 = 1e-3;
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

#[derive(Default)]
struct LabelTotals {
    /// Start and duration of each request.
    times: Vec<(u64, u32)>,
    failed: u64,
    bytes: u64,
}

fn read(text: &str) -> Result<Report, String> {
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let head = lines.headers().map_err(|error| format!("a table ({error})"))?.clone();
    let place = |name: &str| {
        head.iter().position(|other| other == name).ok_or_else(|| format!("the column `{name}`"))
    };
    let (stamp, elapsed) = (place("timeStamp")?, place("elapsed")?);
    let (label, success) = (place("label")?, place("success")?);
    let (bytes, threads) = (place("bytes").ok(), place("allThreads").ok());
    let mut seen: BTreeMap<String, LabelTotals> = BTreeMap::new();
    let (mut first, mut last_sent, mut last, mut workers) = (u64::MAX, 0, 0, 0);
    for record in lines.records() {
        let record = record.map_err(|error| format!("whole lines ({error})"))?;
        let figure = |place: usize| record.get(place).and_then(|cell| cell.parse::<u64>().ok());
        let wrong = || format!("figures in `{}`", record.as_slice());
        let began = figure(stamp).ok_or_else(wrong)?;
        let took = figure(elapsed).and_then(|took| u32::try_from(took).ok()).ok_or_else(wrong)?;
        let good = match record.get(success) {
            Some("true") => true,
            Some("false") => false,
            _ => return Err(wrong()),
        };
        format::at_most(format::MOST_ROWS, seen.len(), "labels")?;
        let row = seen.entry(record.get(label).unwrap_or_default().to_owned()).or_default();
        row.times.push((began, took));
        row.failed += u64::from(!good);
        row.bytes = row.bytes.saturating_add(bytes.and_then(figure).unwrap_or(0));
        first = first.min(began);
        last_sent = last_sent.max(began);
        last = last.max(began.saturating_add(u64::from(took)));
        workers = workers.max(threads.and_then(figure).unwrap_or(0));
    }
    if seen.is_empty() {
        return Err("a line with a request".to_owned());
    }
    let length = |end: u64| Figure { value: (end - first) as f64 * MILLI, step: 2.0 * MILLI };
    Ok(single(
        "JMeter",
        Run {
            started_at: Some(first as f64 * MILLI),
            workers: (workers > 0).then_some(workers as f64),
            duration: Some(length(last)),
            send_window: Some(length(last_sent)),
            measured_from: Some(MeasuredFrom::Sent),
            rows: seen
                .into_iter()
                .map(|(name, seen)| row(name, seen, (first, last_sent)))
                .collect(),
            ..Run::default()
        },
    ))
}

/// With this many, five higher medians at one end are unlikely to be chance.
const INTERVALS: u64 = 15;
/// Mean number of requests in an interval that makes its median meaningful.
const SUPPORTED: u64 = 20;

/// Median time in each interval from the first send to the last; empty with too few requests.
fn intervals(times: &[(u64, u32)], (first, last): (u64, u64)) -> Vec<Period> {
    let span = (last - first) / INTERVALS + 1;
    let mut parts = vec![Vec::new(); INTERVALS as usize];
    times.iter().for_each(|(began, took)| parts[((began - first) / span) as usize].push(*took));
    if (times.len() as u64) < INTERVALS * SUPPORTED || parts.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let made = |(place, part): (u64, &mut Vec<u32>)| {
        let middle = (part.len() - 1) / 2;
        let p50 = f64::from(*part.select_nth_unstable(middle).1);
        Period {
            from: (place * span) as f64 * MILLI,
            to: ((place + 1) * span) as f64 * MILLI,
            count: part.len() as u64,
            failed: None,
            p50: Some(Figure { value: p50 * MILLI, step: MILLI }),
        }
    };
    (0..).zip(&mut parts).map(made).collect()
}

fn row(name: String, seen: LabelTotals, span: (u64, u64)) -> Row {
    let intervals = intervals(&seen.times, span);
    let mut times: Vec<u32> = seen.times.iter().map(|(_, took)| *took).collect();
    times.sort_unstable();
    let n = times.len();
    let time = |value: f64| Some(Figure { value: value * MILLI, step: MILLI });
    let sum: f64 = times.iter().map(|time| f64::from(*time)).sum();
    let rank = |q: f64| ((q.next_down() * n as f64).ceil() as usize).clamp(1, n) - 1;
    let quantile = |q: f64| (q, Figure { value: f64::from(times[rank(q)]) * MILLI, step: MILLI });
    Row {
        name,
        n: Some(n as u64),
        failed: Some(seen.failed),
        min: time(f64::from(times[0])),
        mean: time(sum / n as f64),
        max: time(f64::from(times[n - 1])),
        quantiles: QUANTILES.iter().map(|q| quantile(*q)).collect(),
        timed: Some(n as u64),
        resolution: Some(MILLI),
        bytes_total: Some(Figure::exact(seen.bytes as f64)),
        intervals,
        ..Row::default()
    }
}
