//! Fortio: `-json`. Times in seconds; Fortio interpolates quantiles within buckets, which are 1 ms
//! wide by default.

use serde_json::Value;

use super::fields;
use super::figure::{number, sum, time};
use super::format::{self, Format, is_here, json, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, epoch, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "fortio",
    about: "Fortio's JSON",
    marks: &["\"RequestedQPS\"", "\"ActualQPS\"", "\"DurationHistogram\"", "\"RetCodes\""],
    longest: format::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    let root = json(text)?;
    let times = |name| fields::figure(&root, &["DurationHistogram", name]);
    let codes = fields::counts(&root, &["RetCodes"])?;
    let bad = |code: &str| code.parse().is_ok_and(|code: i32| !(0..400).contains(&code));
    let failed = sum(codes.iter().filter(|(code, _)| bad(code)).map(|(_, n)| n));
    let n = fields::count(&root, &["DurationHistogram", "Count"])?;
    let mut row = Row {
        name: "all".to_owned(),
        n: Some(n.ok_or("`DurationHistogram.Count`")?),
        failed: Some(failed),
        statuses: codes,
        rate: fields::figure(&root, &["ActualQPS"]),
        min: times("Min"),
        mean: times("Avg"),
        stdev: times("StdDev"),
        max: times("Max"),
        timed: n,
        ..Row::default()
    };
    let list = fields::at(&root, &["DurationHistogram", "Percentiles"]).and_then(Value::as_array);
    for entry in list.into_iter().flatten() {
        let q = fields::figure(entry, &["Percentile"]);
        if let Some((q, value)) = q.zip(fields::figure(entry, &["Value"])) {
            push_quantile(&mut row, q.value / 100.0, value);
        }
    }
    let asked = fields::text(&root, &["RequestedQPS"]).and_then(number);
    let asked = asked.filter(|rate| rate.value > 0.0);
    let address = fields::text(&root, &["URL"]).or_else(|| fields::text(&root, &["Destination"]));
    Ok(single(
        "Fortio",
        Run {
            name: fields::text(&root, &["Labels"]).unwrap_or_default().to_owned(),
            started_at: fields::text(&root, &["StartTime"]).and_then(epoch),
            model: Some(LoadModel::Closed),
            workers: fields::figure(&root, &["NumThreads"]).map(|threads| threads.value),
            same_machine: address.and_then(is_here),
            target_rate: asked,
            asked_duration: fields::text(&root, &["RequestedDuration"]).and_then(time),
            duration: fields::time(&root, &["ActualDuration"], 1e-9),
            measured_from: Some(MeasuredFrom::Sent),
            content_checked: Some(false),
            total: Some(row),
            ..Run::default()
        },
    ))
}
