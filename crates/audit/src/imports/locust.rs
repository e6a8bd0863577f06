//! Locust: `PREFIX_stats.csv`. Times in milliseconds; quantiles are kept to two digits.

use super::figure::{Figure, count, number};
use super::format::{self, Format, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "locust",
    about: "Locust's `*_stats.csv`",
    marks: &["Type,Name,Request Count,Failure Count", "Average Response Time", ",Aggregated,"],
    longest: format::SUMMARY,
    read,
};

/// Half a unit of the second digit, relative to a number just above 1, 10, 100 …
const TWO_DIGITS: f64 = 0.05;

fn read(text: &str) -> Result<Report, String> {
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let head = lines.headers().map_err(|error| format!("a table ({error})"))?.clone();
    let (mut rows, mut total) = (Vec::new(), None);
    for record in lines.records() {
        let record = record.map_err(|error| format!("whole lines ({error})"))?;
        let row =
            row(&head, &record).ok_or_else(|| format!("figures in `{}`", record.as_slice()))?;
        if row.name == "Aggregated" {
            total = Some(row);
        } else {
            rows.push(row);
        }
        format::at_most(format::MOST_ROWS, rows.len(), "lines of figures")?;
    }
    total.as_ref().ok_or("the line `Aggregated`")?;
    Ok(single(
        "Locust",
        Run {
            model: Some(LoadModel::Closed),
            measured_from: Some(MeasuredFrom::Sent),
            rows,
            total,
            ..Run::default()
        },
    ))
}

fn row(head: &csv::StringRecord, record: &csv::StringRecord) -> Option<Row> {
    let cell = |name: &str| record.get(head.iter().position(|other| other == name)?);
    let time = |name: &str| Some(number(cell(name)?)?.times(1e-3));
    let whole = |name: &str| count(cell(name)?.split('.').next()?);
    let mut row = Row {
        name: cell("Name")?.to_owned(),
        n: Some(whole("Request Count")?),
        failed: Some(whole("Failure Count")?),
        rate: number(cell("Requests/s")?),
        mean: time("Average Response Time"),
        min: time("Min Response Time"),
        max: time("Max Response Time"),
        timed: Some(whole("Request Count")?),
        resolution: Some(1e-3),
        bytes_mean: number(cell("Average Content Size")?),
        ..Row::default()
    };
    for (name, value) in head.iter().zip(record) {
        let Some(q) = name.strip_suffix('%').and_then(number) else { continue };
        // A row without requests says N/A.
        if let Some(value) = number(value) {
            let coarse = |value: Figure| value.at_least(value.value * TWO_DIGITS);
            push_quantile(&mut row, q.value / 100.0, coarse(value.times(1e-3).at_least(1e-3)));
        }
    }
    Some(row)
}
