//! The report of vegeta, JSON form: one object per trial.
//!
//! Times are response times from the intended start, of operations that succeeded.

use std::collections::BTreeMap;
use std::io::{self, Write};

use record::folder::Folder;
use record::summary::{Distribution, TrialSummary};
use serde_json::{Value, json};

use super::wall_clock;
use judge::run_record::RunRecord;

/// Format `vegeta-json`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    for trial in run.summary.arms.iter().flat_map(|arm| &arm.trials) {
        let record = run.trials.iter().find(|one| one.index == trial.index);
        let start = record.map_or(0, |record| wall_clock::measure_start_ns(run, record));
        serde_json::to_writer(&mut *out, &report(trial, start))?;
        writeln!(out)?;
    }
    Ok(())
}

fn report(trial: &TrialSummary, start: i128) -> Value {
    let (total, accounting) = (&trial.total, &trial.accounting);
    let started = accounting.started.max(1) as f64;
    let (measured, drained) = (trial.phases.measure_ns, trial.phases.drain_ns);
    let latest = start + i128::from(measured);
    let mut codes: BTreeMap<String, u64> = total.statuses.clone();
    let unanswered = accounting.started.saturating_sub(codes.values().sum());
    if unanswered > 0 {
        codes.insert("0".to_owned(), unanswered);
    }
    let size = |bytes: u64| json!({ "total": bytes, "mean": bytes as f64 / started });
    json!({
        "latencies": times(&total.response_time),
        "bytes_in": size(total.bytes_received),
        "bytes_out": size(total.bytes_sent),
        "earliest": wall_clock::rfc3339(start),
        "latest": wall_clock::rfc3339(latest),
        "end": wall_clock::rfc3339(latest + i128::from(drained)),
        "duration": measured,
        "wait": drained,
        "requests": accounting.started,
        "rate": trial.rates.started,
        "throughput": trial.rates.goodput,
        "success": accounting.succeeded as f64 / started,
        "status_codes": codes,
        "errors": total.failures.keys().collect::<Vec<_>>(),
    })
}

fn times(distribution: &Distribution) -> Value {
    let at = |q: f64| {
        let entry = distribution.quantiles.iter().find(|entry| entry.q == q);
        entry.and_then(|entry| entry.observed_ns).unwrap_or(distribution.max_ns)
    };
    json!({
        "total": distribution.mean_ns.saturating_mul(distribution.count),
        "mean": distribution.mean_ns,
        "50th": at(0.5),
        "90th": at(0.9),
        "95th": at(0.95),
        "99th": at(0.99),
        "max": distribution.max_ns,
        "min": distribution.min_ns,
    })
}
