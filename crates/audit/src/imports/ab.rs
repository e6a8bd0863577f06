//! ab (ApacheBench), as it prints. Times in whole milliseconds.

use super::figure::{Figure, count, number};
use super::format::{self, Format, is_here, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "ab",
    about: "ab (ApacheBench), as it prints",
    marks: &[
        "ApacheBench",
        "Concurrency Level:",
        "Complete requests:",
        "Requests per second:",
        "Connection Times (ms)",
        "(longest request)",
    ],
    longest: format::SUMMARY,
    read,
};

const MILLI: f64 = 1e-3;

fn read(text: &str) -> Result<Report, String> {
    format::once(text, "Requests per second:")?;
    let mut row = Row { name: "all".to_owned(), resolution: Some(MILLI), ..Row::default() };
    let mut run = Run {
        model: Some(LoadModel::Closed),
        measured_from: Some(MeasuredFrom::Sent),
        content_checked: Some(false),
        ..Run::default()
    };
    let mut bad_statuses = 0;
    for line in text.lines().map(str::trim) {
        let (name, rest) = line.split_once(':').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let first = words.first().copied().unwrap_or_default();
        match name {
            "Server Hostname" => run.same_machine = is_here(first),
            "Concurrency Level" => run.workers = number(first).map(|figure| figure.value),
            "Time taken for tests" => run.duration = number(first),
            "Complete requests" => row.n = count(first),
            "Failed requests" => row.failed = count(first),
            "Non-2xx responses" => bad_statuses = count(first).unwrap_or(0),
            "Total transferred" => row.bytes_total = number(first),
            "Requests per second" => row.rate = number(first),
            "Transfer rate" => row.bytes_rate = number(first).map(|rate| rate.times(1_024.0)),
            "Total" => times(&mut row, &words).ok_or_else(|| format!("the values of `{line}`"))?,
            _ => quantile(&mut row, line).ok_or_else(|| format!("the values of `{line}`"))?,
        }
    }
    row.rate.ok_or("the number of `Requests per second:`")?;
    // ab counts answers of another length as failed, but not bad statuses.
    row.failed = row.failed.map(|failed| failed.max(bad_statuses));
    row.timed = row.n;
    run.total = Some(row);
    Ok(single("ab", run))
}

fn times(row: &mut Row, words: &[&str]) -> Option<()> {
    let time = |place: usize| Some(number(words.get(place)?)?.times(MILLI));
    (row.min, row.mean, row.stdev) = (Some(time(0)?), Some(time(1)?), Some(time(2)?));
    row.max = Some(time(4)?);
    Some(())
}

fn quantile(row: &mut Row, line: &str) -> Option<()> {
    let Some((q, value)) = line.split_once('%') else { return Some(()) };
    let Some(q) = count(q).filter(|q| *q < 100) else { return Some(()) };
    let value: Figure = number(value.split_whitespace().next()?)?.times(MILLI);
    push_quantile(row, q as f64 / 100.0, value);
    Some(())
}
