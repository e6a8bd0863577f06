//! bombardier: as it prints, and `-o json`. "Reqs/sec" is a mean over samples, not requests over
//! time, and is left out.

use super::fields;
use super::figure::{count, leading, size, time};
use super::format::{self, Format, is_here, json, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const TEXT: Format = Format {
    name: "bombardier",
    about: "bombardier, as it prints",
    marks: &[
        "Statistics        Avg      Stdev        Max",
        "Reqs/sec",
        "HTTP codes:",
        "others - ",
        "Throughput:",
    ],
    longest: format::SUMMARY,
    read: text,
};

pub(super) const JSON: Format = Format {
    name: "bombardier-json",
    about: "`bombardier -o json`",
    marks: &["\"spec\"", "\"numberOfConnections\"", "\"timeTakenSeconds\"", "\"req2xx\""],
    longest: format::SUMMARY,
    read: document,
};

fn text(text: &str) -> Result<Report, String> {
    format::once(text, "Throughput:")?;
    let mut row = Row { name: "all".to_owned(), ..Row::default() };
    let mut run = Run {
        model: Some(LoadModel::Closed),
        measured_from: Some(MeasuredFrom::Sent),
        content_checked: Some(false),
        ..Run::default()
    };
    let mut others = None;
    for line in text.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || format!("the values of `{line}`");
        match words[..] {
            ["Bombarding", address, .., connections, "connection(s)" | "connections"] => {
                run.same_machine = is_here(address);
                run.workers = leading(connections).map(|(figure, _)| figure.value);
            }
            ["Latency", mean, stdev, max] => {
                (row.mean, row.stdev, row.max) = (time(mean), time(stdev), time(max));
                row.max.ok_or_else(wrong)?;
            }
            [q, value] if q.ends_with('%') => {
                let q = leading(q).ok_or_else(wrong)?.0.value / 100.0;
                push_quantile(&mut row, q, time(value).ok_or_else(wrong)?);
            }
            ["1xx", "-", ..] => {
                for pair in line.split(',') {
                    let (class, n) = pair.trim().split_once(" - ").ok_or_else(wrong)?;
                    row.statuses.insert(class.to_owned(), count(n).ok_or_else(wrong)?);
                }
            }
            ["others", "-", n] => others = Some(count(n).ok_or_else(wrong)?),
            ["Throughput:", rate] => row.bytes_rate = size(rate, 1_024.0),
            _ => (),
        }
    }
    row.bytes_rate.ok_or("a size in `Throughput:`")?;
    outcomes(&mut row, others.ok_or("`others`")?);
    run.total = Some(row);
    Ok(single("bombardier", run))
}

/// Counts answers by status class, and requests without an answer.
fn outcomes(row: &mut Row, others: u64) {
    let of = |class: &str| row.statuses.get(class).copied().unwrap_or(0);
    let ok = of("1xx") + of("2xx") + of("3xx");
    let failures = [("4xx", of("4xx")), ("5xx", of("5xx")), ("others", others)];
    row.failures = failures.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect();
    let failed = row.failures.values().sum();
    (row.ok, row.failed, row.n) = (Some(ok), Some(failed), Some(ok + failed));
    row.timed = row.n;
    row.statuses.retain(|_, n| *n > 0);
}

fn document(text: &str) -> Result<Report, String> {
    const MICRO: f64 = 1e-6;
    let root = json(text)?;
    let times = |name| fields::time(&root, &["result", "latency", name], MICRO);
    let mut row = Row {
        name: "all".to_owned(),
        mean: times("mean"),
        stdev: times("stddev"),
        max: times("max"),
        bytes_total: fields::figure(&root, &["result", "bytesRead"]),
        ..Row::default()
    };
    for (name, value) in fields::entries(&root, &["result", "latency", "percentiles"]) {
        if let (Some(q), Some(value)) = (super::figure::number(name), fields::figure(value, &[])) {
            push_quantile(&mut row, q.value / 100.0, value.times(MICRO));
        }
    }
    for class in ["1xx", "2xx", "3xx", "4xx", "5xx"] {
        let n = fields::count(&root, &["result", &format!("req{class}")])?.unwrap_or(0);
        row.statuses.insert(class.to_owned(), n);
    }
    outcomes(&mut row, fields::count(&root, &["result", "others"])?.unwrap_or(0));
    let spec = |name| fields::figure(&root, &["spec", name]);
    Ok(single(
        "bombardier",
        Run {
            model: Some(LoadModel::Closed),
            workers: spec("numberOfConnections").map(|figure| figure.value),
            target_rate: spec("rate").filter(|rate| rate.value > 0.0),
            timeout: spec("timeoutSeconds"),
            same_machine: fields::text(&root, &["spec", "url"]).and_then(is_here),
            duration: fields::figure(&root, &["result", "timeTakenSeconds"]),
            measured_from: Some(MeasuredFrom::Sent),
            content_checked: Some(false),
            total: Some(row),
            ..Run::default()
        },
    ))
}
