//! The text that `prism-loadtest` prints: cumulative progress lines and a block of results an
//! operation. Quantiles are labels of its nine buckets; only successes have times.

use super::figure::{Figure, count, leading, percent, time};
use super::foreign::{Foreign, Interval, Items, Model, Row, Run, Start, push_quantile};
use super::{Format, single};

pub(super) const FORMAT: Format = Format {
    name: "prism-loadtest",
    about: "the text block of prism-loadtest",
    marks: &["Load Test Results", "Total Requests:", "Latency Min:", "Latency P99:", "Successful:"],
    longest: super::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Foreign, String> {
    super::once(text, "Load Test Results")?;
    let mut run = Run {
        model: Some(Model::Open),
        measured_from: Some(Start::Sent),
        content_checked: Some(false),
        ..Run::default()
    };
    let mut progress: Vec<(f64, u64)> = Vec::new();
    let mut total = None;
    for line in text.lines().map(str::trim) {
        let wrong = || format!("the values of `{line}`");
        if let Some(name) = line.strip_suffix(" Operations:") {
            super::at_most(super::MOST_ROWS, run.rows.len(), "lines of figures")?;
            run.rows.push(Row { name: name.to_owned(), ..Row::default() });
        } else if let Some(rest) = line.strip_prefix('[').filter(|line| line.contains("s] Total:"))
        {
            progress.push(progressed(rest).ok_or_else(wrong)?);
        } else if line.starts_with('|') {
            run.intervals.extend(interval(line));
        } else if let Some((name, value)) = line.split_once(':') {
            let value = value.trim();
            match (name, run.rows.last_mut()) {
                ("Rate", None) => run.target_rate = leading(value).map(|(rate, _)| rate),
                ("Duration", None) => run.duration = run.duration.or(time(value)),
                ("Total Operations", None) => total = Some(count(value).ok_or_else(wrong)?),
                (name, Some(row)) => fill(row, name, value).ok_or_else(wrong)?,
                _ => (),
            }
        }
    }
    run.asked_duration = run.duration;
    finish(&mut run, total, &progress)?;
    Ok(single("prism-loadtest", run))
}

/// `5s] Total: 600 (…` as (5, 600).
fn progressed(rest: &str) -> Option<(f64, u64)> {
    let (at, rest) = rest.split_once("] Total:")?;
    Some((time(at)?.value, count(rest.split_whitespace().next()?)?))
}

/// A row `| 55-60s | 500 | 100.00 |` of a document's table.
fn interval(line: &str) -> Option<Interval> {
    let mut cells = line.split('|').map(str::trim).skip(1);
    let (from, to) = cells.next()?.strip_suffix('s')?.split_once('-')?;
    let (from, to) = (count(from)? as f64, count(to)? as f64);
    Some(Interval { from, to, count: count(cells.next()?)?, ..Interval::default() })
}

fn fill(row: &mut Row, name: &str, value: &str) -> Option<()> {
    let shared = || {
        let (_, share) = value.split_once('(')?;
        percent(share.trim_end_matches(')'))
    };
    let first = value.split_whitespace().next();
    match name {
        "Total Requests" => row.n = Some(count(value)?),
        "Successful" => {
            (row.ok, row.ok_share) = (Some(count(first?)?), Some(shared()?));
            row.timed = row.ok;
        }
        "Failed" => match &mut row.items {
            Some(items) => items.failed = Some(count(first?)?),
            None => row.failed = Some(count(first?)?),
        },
        "Latency Min" => row.min = Some(time(value)?),
        "Latency Max" => row.max = Some(time(value)?),
        "Latency Avg" => row.mean = Some(time(value)?),
        "Total Targets" => {
            row.items = Some(Items { targets: count(value)?, ..Items::default() });
        }
        "Delivered" => {
            let items = row.items.as_mut()?;
            (items.delivered, items.delivered_share) = (Some(count(first?)?), Some(shared()?));
        }
        name => {
            if let Some(q) = name.strip_prefix("Latency P") {
                push_quantile(row, count(q)? as f64 / 100.0, time(value)?);
            }
        }
    }
    Some(())
}

fn finish(run: &mut Run, total: Option<u64>, progress: &[(f64, u64)]) -> Result<(), String> {
    let whole = |row: &Row| row.max.is_some() && row.quantile(0.99).is_some();
    if run.rows.is_empty() || !run.rows.iter().all(whole) {
        return Err("a whole block to `Latency P99:` an operation".to_owned());
    }
    // Multicasts at the end of the run go to everybody who registered in it.
    let registered = run.rows.iter().find(|row| row.name == "Register").and_then(|row| row.ok);
    for items in run.rows.iter_mut().filter_map(|row| row.items.as_mut()) {
        items.population = registered;
    }
    if let Some(n) = total {
        run.total = Some(Row { name: "all".to_owned(), n: Some(n), ..Row::default() });
    }
    if run.intervals.is_empty() {
        let mut before = (0.0, 0);
        for &(at, so_far) in progress {
            let count = so_far.checked_sub(before.1).ok_or("progress that goes on")?;
            run.intervals.push(Interval { from: before.0, to: at, count, ..Interval::default() });
            before = (at, so_far);
        }
        // No line is printed at the end of the run.
        let end = run.duration.map_or(0.0, |duration: Figure| duration.value);
        if let (Some(rest), true) = (total.and_then(|n| n.checked_sub(before.1)), end > before.0) {
            let last = Interval { from: before.0, to: end, count: rest, ..Interval::default() };
            run.intervals.push(last);
        }
    }
    Ok(())
}
