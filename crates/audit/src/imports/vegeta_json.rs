//! `vegeta report -type=json`. Times in nanoseconds.

use super::fields;
use super::figure::{Figure, sum};
use super::format::{self, Format, json, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, epoch, push_quantile};
use super::vegeta_text::TDIGEST_RANK_ERROR;

pub(super) const FORMAT: Format = Format {
    name: "vegeta-json",
    about: "`vegeta report -type=json`",
    marks: &["\"latencies\"", "\"bytes_in\"", "\"wait\"", "\"status_codes\"", "\"success\""],
    longest: format::SUMMARY,
    read,
};

const NANO: f64 = 1e-9;

fn read(text: &str) -> Result<Report, String> {
    let root = json(text)?;
    let n = fields::count(&root, &["requests"])?.ok_or("`requests`")?;
    let statuses = fields::counts(&root, &["status_codes"])?;
    let good = |code: &str| (200..400).contains(&code.parse().unwrap_or(0));
    let ok = sum(statuses.iter().filter(|(code, _)| good(code)).map(|(_, n)| n));
    let times = |name| fields::time(&root, &["latencies", name], NANO);
    let mut total = Row {
        name: "all".to_owned(),
        n: Some(n),
        ok: Some(ok),
        statuses,
        rate: fields::figure(&root, &["rate"]),
        goodput: fields::figure(&root, &["throughput"]),
        ok_share: fields::share(&root, &["success"]),
        min: times("min").filter(|min| min.value > 0.0),
        mean: times("mean"),
        max: times("max"),
        timed: Some(n),
        rank_error: TDIGEST_RANK_ERROR,
        bytes_total: fields::figure(&root, &["bytes_in", "total"]),
        bytes_mean: fields::figure(&root, &["bytes_in", "mean"]),
        ..Row::default()
    };
    for (name, q) in [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)] {
        if let Some(value) = times(name) {
            push_quantile(&mut total, q, value);
        }
    }
    let window = fields::time(&root, &["duration"], NANO);
    let wait = fields::time(&root, &["wait"], NANO);
    let duration = window
        .zip(wait)
        .map(|(window, wait)| Figure { value: window.value + wait.value, step: window.step });
    let instant = |name| fields::text(&root, &[name]).and_then(epoch);
    Ok(single(
        "vegeta",
        Run {
            started_at: instant("earliest"),
            ended_at: instant("end"),
            model: Some(LoadModel::Open),
            duration,
            send_window: window,
            first_to_last: true,
            measured_from: Some(MeasuredFrom::Sent),
            content_checked: Some(false),
            total: Some(total),
            ..Run::default()
        },
    ))
}
