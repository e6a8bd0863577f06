//! wrk and wrk2, as they print.
//!
//! If an answer took longer than usual, wrk adds times to its table that it never measured; wrk2
//! measures from the planned send. Neither records times of errors.

use super::figure::{count, number, percent, size, sum, time};
use super::format::{self, Format, is_here, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "wrk",
    about: "wrk or wrk2, as it prints",
    marks: &["Running ", "Thread Stats", " requests in ", "Requests/sec:", "Transfer/sec:"],
    longest: format::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    format::once(text, "Requests/sec:")?;
    let planned = text.contains("Recorded Latency") || text.contains("Thread calibration");
    let mut row = Row { name: "all".to_owned(), ..Row::default() };
    let mut run = Run {
        model: Some(if planned { LoadModel::Open } else { LoadModel::Closed }),
        measured_from: Some(if planned { MeasuredFrom::Intended } else { MeasuredFrom::Corrected }),
        content_checked: Some(false),
        ..Run::default()
    };
    for line in text.lines().map(str::trim) {
        fill(&mut run, &mut row, line).ok_or_else(|| format!("the values of `{line}`"))?;
    }
    row.bytes_rate.ok_or("a size in `Transfer/sec:`")?;
    let errors = sum(row.failures.values());
    row.failed = Some(errors);
    // Socket errors have no answer; bad statuses do.
    let answered = row.failures.get("status").copied().unwrap_or(0);
    let unanswered = errors - answered;
    row.timed = row.n;
    row.ok = row.n.and_then(|n| n.checked_sub(answered));
    row.n = row.n.map(|n| n + unanswered);
    run.total = Some(row);
    Ok(single(if planned { "wrk2" } else { "wrk" }, run))
}

fn fill(run: &mut Run, row: &mut Row, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["Running", length, "test", ref at @ ..] => {
            run.asked_duration = Some(time(length)?);
            run.same_machine = at.last().and_then(|address| is_here(address));
        }
        [_, "threads", "and", connections, "connections"] => {
            run.workers = Some(number(connections)?.value);
        }
        ["Latency", mean, stdev, max, _] if row.mean.is_none() => {
            (row.mean, row.stdev, row.max) =
                (Some(time(mean)?), Some(time(stdev)?), Some(time(max)?));
        }
        [q, value] if q.ends_with('%') => {
            let q = percent(q)?.value;
            let value = time(value)?;
            if q < 1.0 && row.quantile(q).is_none() {
                push_quantile(row, q, value);
            }
        }
        [n, "requests", "in", length, read, "read"] => {
            row.n = Some(count(n)?);
            run.duration = Some(time(length.trim_end_matches(','))?);
            row.bytes_total = Some(size(read, 1_024.0)?);
        }
        ["Non-2xx", .., n] => drop(row.failures.insert("status".to_owned(), count(n)?)),
        ["Socket", "errors:", ..] => {
            for pair in line.strip_prefix("Socket errors:")?.split(',') {
                let (kind, n) = pair.trim().split_once(' ')?;
                row.failures.insert(kind.to_owned(), count(n)?);
            }
        }
        ["Requests/sec:", rate] => row.rate = Some(number(rate)?),
        ["Transfer/sec:", rate] => row.bytes_rate = Some(size(rate, 1_024.0)?),
        _ => (),
    }
    Some(())
}
