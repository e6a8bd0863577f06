//! Result files of the SMTP "Stress Test Suite v2.0". Times in milliseconds.
//!
//! From its source: a worker sleeps 10 ms after each message of a burst; a sustained run sleeps 5 s
//! before it stops its clock and counts failures in bursts alone; quantiles are interpolated; a
//! message that failed has no time.

use super::figure::{Figure, number};
use super::foreign::{Foreign, Model, Row, Run, Start, epoch, push_quantile, quantile_name};
use super::{Format, fields, json, single};

pub(super) const FORMAT: Format = Format {
    name: "smtp-suite",
    about: "result file of the SMTP Stress Test Suite",
    marks: &[
        "\"test_type\"",
        "\"metrics\"",
        "\"total_messages\"",
        "\"latency_ms\"",
        "\"messages_per_second\"",
    ],
    longest: super::SUMMARY,
    read,
};

const PAUSE: f64 = 0.010;
const DRAIN: f64 = 5.0;

fn read(text: &str) -> Result<Foreign, String> {
    let root = json(text)?;
    let count = |name| fields::count(&root, &["metrics", name]);
    let time = |name| fields::time(&root, &["metrics", "latency_ms", name], 1e-3);
    let mut row = Row {
        name: fields::text(&root, &["message_size"]).unwrap_or("all").to_owned(),
        n: Some(count("total_messages")?.ok_or("`metrics.total_messages`")?),
        ok: count("successful_messages")?,
        failed: count("failed_messages")?,
        rate: fields::figure(&root, &["metrics", "messages_per_second"]),
        min: time("min"),
        mean: time("avg"),
        max: time("max"),
        interpolated: true,
        timed: count("successful_messages")?,
        ..Row::default()
    };
    for (name, value) in fields::entries(&root, &["metrics", "latency_ms"]) {
        if let Some((q, value)) = quantile_name(name).zip(fields::figure(value, &[])) {
            push_quantile(&mut row, q, value.times(1e-3));
        }
    }
    let sustained = fields::text(&root, &["test_type"]) == Some("sustained");
    let duration = fields::figure(&root, &["metrics", "duration_seconds"]);
    // Its length is asked for in whole seconds; what is over is the last pause between sends.
    let sending = |whole: Figure| {
        let rest = whole.value - DRAIN;
        Figure { value: rest.floor(), step: whole.step.max(rest.fract()) }
    };
    let instant = |name| fields::text(&root, &["metrics", name]).and_then(epoch);
    let setting = |name| match fields::at(&root, &[name])? {
        serde_json::Value::String(text) => number(text),
        value => value.as_f64().map(Figure::of_number),
    };
    Ok(single(
        "Stress Test Suite",
        Run {
            name: fields::text(&root, &["test_type"]).unwrap_or_default().to_owned(),
            started_at: instant("start_time"),
            ended_at: instant("end_time"),
            model: Some(if sustained { Model::Open } else { Model::Closed }),
            workers: setting("concurrent_workers").filter(|_| !sustained).map(|n| n.value),
            think: (!sustained).then_some(PAUSE),
            target_rate: setting("target_rate").filter(|_| sustained),
            servers: fields::at(&root, &["servers"])
                .and_then(|list| Some(list.as_array()?.len() as f64)),
            duration,
            send_window: duration.filter(|whole| sustained && whole.value > DRAIN).map(sending),
            measured_from: Some(Start::Sent),
            content_checked: Some(false),
            failures_counted: Some(!sustained),
            rows: vec![row],
            ..Run::default()
        },
    ))
}
