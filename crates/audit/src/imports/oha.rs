//! `oha --output-format json` (earlier `--json`). Times in seconds.
//!
//! Errors and time-outs have no times; "successRate" counts any answer as a success, even a 500.

use super::fields;
use super::figure::sum;
use super::format::{self, Format, json, single};
use super::report::{MeasuredFrom, Report, Row, Run, push_quantile, quantile_name};

pub(super) const FORMAT: Format = Format {
    name: "oha",
    about: "oha's JSON",
    marks: &[
        "\"latencyPercentiles\"",
        "\"summary\"",
        "\"successRate\"",
        "\"statusCodeDistribution\"",
    ],
    longest: format::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    let root = json(text)?;
    let statuses = fields::counts(&root, &["statusCodeDistribution"])?;
    let mut failures = fields::counts(&root, &["errorDistribution"])?;
    let answers = sum(statuses.values());
    let errors = sum(failures.values());
    // In flight when the tool ended, so neither slow nor failed.
    let cut_off = failures.remove("aborted due to deadline").unwrap_or(0);
    let bad = |code: &str| code.parse().is_ok_and(|code: u16| code >= 400);
    for (code, count) in statuses.iter().filter(|(code, _)| bad(code)) {
        failures.insert(format!("status {code}"), *count);
    }
    let failed = sum(failures.values());
    let time = |name| fields::figure(&root, &["summary", name]);
    let mut total = Row {
        name: "all".to_owned(),
        n: Some(answers + errors),
        failed: Some(failed),
        failures,
        statuses,
        rate: fields::figure(&root, &["summary", "requestsPerSec"]),
        min: time("fastest"),
        mean: time("average"),
        max: time("slowest"),
        timed: Some(answers + cut_off),
        bytes_total: time("totalData"),
        bytes_mean: time("sizePerRequest").filter(|_| errors == 0),
        bytes_rate: time("sizePerSec"),
        ..Row::default()
    };
    for (name, value) in fields::entries(&root, &["latencyPercentiles"]) {
        if let Some((q, value)) = quantile_name(name).zip(fields::figure(value, &[])) {
            push_quantile(&mut total, q, value);
        }
    }
    Ok(single(
        "oha",
        Run {
            duration: fields::figure(&root, &["summary", "total"]),
            measured_from: Some(MeasuredFrom::Sent),
            content_checked: Some(false),
            total: Some(total),
            ..Run::default()
        },
    ))
}
