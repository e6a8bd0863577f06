//! What may be said of a distribution of times: claimed values with intervals, and values that are
//! only facts about this sample.

use record::summary::{Distribution, Grade, Model, Operation, Quantile, Trial};

use super::Table;
use judge::lanes::connections;
use plan::number;

const COLUMNS: [&str; 6] =
    ["operation", "", "#claimed", "#95 % interval", "#observed in this sample", "#a claim needs"];

/// Response time of an open load, or nothing.
pub fn response(trial: &Trial) -> Option<Table> {
    if trial.load.model != Model::Open {
        return None;
    }
    let offered = trial.load.offered_rate.unwrap_or(trial.rates.offered);
    let title = format!("Response time at {}", number::rate(offered));
    let mut table = Table::new("response-time", title, &COLUMNS)
        .note("From the intended start to the complete answer, of operations that succeeded.");
    fill(&mut table, trial, |operation| &operation.response_time);
    table.unless_empty()
}

/// Service time.
pub fn service(trial: &Trial) -> Option<Table> {
    let closed = trial.load.model != Model::Open;
    let title = if closed {
        format!("Service time at {} (closed load)", actors(trial))
    } else {
        "Service time".to_owned()
    };
    let mut table = Table::new("service-time", title, &COLUMNS)
        .note("From the first byte sent to the last byte received, of operations that succeeded.");
    fill(&mut table, trial, |operation| &operation.service_time);
    table.unless_empty()
}

/// Outcome time, where something did not succeed.
pub fn outcome(trial: &Trial) -> Option<Table> {
    if trial.accounting.succeeded == trial.accounting.planned {
        return None;
    }
    let mut table = Table::new("outcome-time", "Outcome time", &COLUMNS).note(
        "Response time in which failed, abandoned and missed operations count as slower than all \
               others: what criteria are judged on.",
    );
    fill(&mut table, trial, |operation| &operation.outcome_time);
    table.unless_empty()
}

/// What keeps a closed load going.
pub fn actors(trial: &Trial) -> String {
    match trial.load.users {
        Some(users) => format!("{users} users"),
        None => connections(&trial.load),
    }
}

fn fill(table: &mut Table, trial: &Trial, times: fn(&Operation) -> &Distribution) {
    let single = trial.operations.len() == 1;
    let closed = trial.load.model != Model::Open;
    // Only outcome time has operations that never succeeded; elsewhere the histogram ends.
    let without_time =
        if table.id == "outcome-time" { "never succeeded" } else { "beyond the range" };
    let main = (table.id == "response-time") || (closed && table.id == "service-time");
    let parts = trial.operations.iter().filter(|_| !single);
    for operation in [&trial.total].into_iter().chain(parts) {
        let distribution = times(operation);
        if distribution.count == 0 {
            continue;
        }
        let name = if single { &trial.operations[0].name } else { &operation.name };
        for entry in &distribution.quantiles {
            let whole = main && (single || operation.name == "all");
            if whole || BRIEF.contains(&entry.q) {
                table.row(line(name, entry, trial, without_time));
            }
        }
        if table.id == "outcome-time" {
            continue;
        }
        for (what, value) in [("mean", distribution.mean_ns), ("max", distribution.max_ns)] {
            let blank = || "–".to_owned();
            table.row([
                name.clone(),
                what.into(),
                blank(),
                blank(),
                number::duration(value),
                String::new(),
            ]);
        }
    }
}

/// Quantiles shown where a table is not the one that the load is about, or of one operation among
/// several.
const BRIEF: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

fn line(name: &str, entry: &Quantile, trial: &Trial, without_time: &str) -> [String; 6] {
    let blank = || "–".to_owned();
    let observed = number::duration_or(entry.observed_ns, without_time);
    let interval = match (entry.low_ns, entry.high_ns) {
        _ if entry.grade == Grade::Refused => blank(),
        (Some(low), Some(high)) => {
            format!("{} – {}", number::duration(low), number::duration(high))
        }
        (Some(low), None) => format!("{} – unknown", number::duration(low)),
        _ => blank(),
    };
    let claimed = match entry.grade {
        Grade::Supported => observed.clone(),
        Grade::Indicative => format!("{observed}, indicative"),
        Grade::Refused => blank(),
    };
    let wanted = match entry.grade {
        Grade::Supported => String::new(),
        Grade::Indicative | Grade::Refused => length_for_support(entry, trial),
    };
    [name.to_owned(), number::percentile(entry.q), claimed, interval, observed, wanted]
}

/// How long this load would have to run until ten effective events lie beyond the quantile.
pub fn length_for_support(entry: &Quantile, trial: &Trial) -> String {
    const ENOUGH: f64 = 10.0;
    const WINDOWS: f64 = 16.0;
    let measured = trial.phases.measure_ns as f64;
    if entry.support <= 0.0 {
        return "a longer run".to_owned();
    }
    let by_support = measured * ENOUGH / entry.support;
    let wanted = by_support.max(WINDOWS * trial.window_ns as f64) / 1e9;
    format!("about {}", roughly(wanted))
}

/// A length of time, in the words in which one would plan it.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{:.0} s", s.ceil()),
        s if s < 7_200.0 => format!("{:.0} min", (s / 60.0).ceil()),
        s => format!("{} h", number::count((s / 3_600.0).ceil() as u64)),
    }
}
