//! Tables of a distribution of times: supported values with intervals, and values that are only facts about this
//! sample.

use record::summary::{Distribution, Grade, Model, Operation, Quantile, TrialSummary};

use super::{Column, Table};
use judge::concurrency;
use plan::number;
use plan::printable::printable;

pub(super) const COLUMNS: [&str; 6] =
    ["operation", "", "#claimed", "#95 % interval", "#observed in this sample", "#a claim needs"];

/// The main time of the load, in one table with a line per operation: response time of an open load, service time of
/// a closed one. Each cell has its interval in a second line.
pub fn in_short(trial: &TrialSummary) -> Option<Table> {
    let open = trial.load.model == Model::Open;
    let single = trial.operations.len() == 1;
    let parts = trial.operations.iter().filter(|_| !single);
    let lines = [&trial.total].into_iter().chain(parts).map(|one| {
        let name = if single { &trial.operations[0].name } else { &one.name };
        let times = if open { &one.response_time } else { &one.service_time };
        (vec![name.clone()], times)
    });
    let table = Table::new("times", title(trial), &["operation"]);
    compact_table(table, trial, "Of operations that succeeded", lines.collect())
}

/// Adds a line for each distribution that has values: its names, main quantiles and greatest value. `about`: what the
/// values are, for the beginning of the note.
pub(super) fn compact_table(
    mut table: Table,
    trial: &TrialSummary,
    about: &str,
    mut lines: Vec<(Vec<String>, &Distribution)>,
) -> Option<Table> {
    lines.retain(|(_, one)| one.count > 0);
    let claimed = |q: f64| lines.iter().any(|(_, one)| grade(one, q).is_some_and(is_claimed));
    // With a second column of words, a terminal of 80 columns has no room for p99.9.
    let has_room = table.columns.len() == 1;
    let is_shown = |q: f64| q < 0.999 || (has_room && claimed(q));
    let quantiles: Vec<f64> = BRIEF.into_iter().filter(|&q| is_shown(q)).collect();
    let figures = |title: String| Column { title, figures: true };
    table.columns.extend(quantiles.iter().map(|&q| figures(number::percentile(q))));
    table.columns.push(figures("max".to_owned()));
    for (names, distribution) in &lines {
        let entry = |q: &f64| distribution.quantiles.iter().find(|entry| entry.q == *q);
        let cell = |q: &f64| entry(q).map_or_else(|| "–".to_owned(), |one| compact(one, trial));
        let mut row: Vec<String> = names.iter().map(|name| printable(name).into_owned()).collect();
        row.extend(quantiles.iter().map(cell));
        row.push(number::duration(distribution.max_ns));
        table.rows.push(row);
    }
    let grades: Vec<Grade> =
        lines.iter().flat_map(|(_, one)| quantiles.iter().filter_map(|&q| grade(one, q))).collect();
    table.note = Some(legend(about, &grades));
    table.unless_empty()
}

fn grade(distribution: &Distribution, q: f64) -> Option<Grade> {
    distribution.quantiles.iter().find(|entry| entry.q == q).map(|entry| entry.grade)
}

fn is_claimed(grade: Grade) -> bool {
    grade != Grade::Refused
}

/// A value with its grade, and below it the interval, or the length of a run that would support one.
fn compact(entry: &Quantile, trial: &TrialSummary) -> String {
    let value = number::duration_or(entry.observed_ns, "–");
    match entry.grade {
        Grade::Refused => {
            let needs = length_for_support(entry, trial).replace("about ", "");
            format!("({value})\nneeds {needs}")
        }
        Grade::Supported => format!("{value}\n{}", interval(entry)),
        Grade::Indicative => format!("~{value}\n{}", interval(entry)),
    }
}

/// `2.21–2.37 ms`; each end has its own unit if they differ.
fn interval(entry: &Quantile) -> String {
    let Some(low) = entry.low_ns else { return "–".to_owned() };
    let (low, high) = (number::duration(low), number::duration_or(entry.high_ns, "?"));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((value, unit)), Some((_, other))) if unit == other => format!("{value}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

fn legend(about: &str, grades: &[Grade]) -> String {
    let marks = [(Grade::Indicative, "; ~ indicative"), (Grade::Refused, "; ( ) not claimed")];
    let used = marks.into_iter().filter(|(grade, _)| grades.contains(grade)).map(|(_, text)| text);
    let marks: String = used.collect();
    format!("{about}; 95 % intervals{marks}")
}

/// Heading of a table of the main time.
fn title(trial: &TrialSummary) -> String {
    if !trial.journeys.is_empty() {
        // The rate and the users are those of journeys.
        let time = if trial.load.model == Model::Open { "Response" } else { "Service" };
        format!("{time} time of operations")
    } else if trial.load.model == Model::Open {
        let offered = trial.load.offered_rate.unwrap_or(trial.rates.offered);
        format!("Response time at {}", number::rate(offered))
    } else {
        format!("Service time at {} (closed load)", actors(trial))
    }
}

/// Response time of an open load; none for other loads.
pub fn response(trial: &TrialSummary) -> Option<Table> {
    if trial.load.model != Model::Open {
        return None;
    }
    let mut table = Table::new("response-time", title(trial), &COLUMNS)
        .note("From the intended start to the complete answer, of operations that succeeded.");
    fill(&mut table, trial, |operation| &operation.response_time);
    table.unless_empty()
}

/// Service time.
pub fn service(trial: &TrialSummary) -> Option<Table> {
    let closed = trial.load.model != Model::Open;
    let title = if closed { title(trial) } else { "Service time".to_owned() };
    let mut table = Table::new("service-time", title, &COLUMNS)
        .note("From the first byte sent to the last byte received, of operations that succeeded.");
    fill(&mut table, trial, |operation| &operation.service_time);
    table.unless_empty()
}

/// Outcome time, if an operation did not succeed.
pub fn outcome(trial: &TrialSummary) -> Option<Table> {
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

/// The connections or users of a closed load.
pub fn actors(trial: &TrialSummary) -> String {
    match trial.load.users {
        Some(users) => format!("{users} users"),
        None => concurrency::in_words(&trial.load),
    }
}

fn fill(table: &mut Table, trial: &TrialSummary, times: fn(&Operation) -> &Distribution) {
    let single = trial.operations.len() == 1;
    let closed = trial.load.model != Model::Open;
    let main = (table.id == "response-time") || (closed && table.id == "service-time");
    let parts = trial.operations.iter().filter(|_| !single);
    for operation in [&trial.total].into_iter().chain(parts) {
        let name = if single { &trial.operations[0].name } else { &operation.name };
        let whole = main && (single || operation.name == "all");
        push(table, trial, (name, times(operation)), whole);
    }
}

/// Adds the quantiles of a distribution, all of them if `whole`; unless it is empty.
pub(super) fn push(
    table: &mut Table,
    trial: &TrialSummary,
    (name, distribution): (&str, &Distribution),
    whole: bool,
) {
    if distribution.count == 0 {
        return;
    }
    // Only outcome time includes what never succeeded; in other tables, the value is beyond the histogram's range.
    let outcome = table.id.ends_with("outcome-time");
    let without_time = if outcome { "never succeeded" } else { "beyond the range" };
    for entry in &distribution.quantiles {
        if whole || BRIEF.contains(&entry.q) {
            table.row(line(name, entry, trial, without_time));
        }
    }
    if outcome {
        return;
    }
    for (what, value) in [("mean", distribution.mean_ns), ("max", distribution.max_ns)] {
        let blank = || "–".to_owned();
        let value = number::duration(value);
        table.row([name.to_owned(), what.into(), blank(), blank(), value, String::new()]);
    }
}

/// Quantiles that are shown if a table is not the main one, or is of one operation among several.
const BRIEF: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

fn line(name: &str, entry: &Quantile, trial: &TrialSummary, without_time: &str) -> [String; 6] {
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

/// The length of this load at which ten effective events would lie beyond the quantile, in at least 16 windows.
pub fn length_for_support(entry: &Quantile, trial: &TrialSummary) -> String {
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

/// A duration, rounded for planning.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{:.0} s", s.ceil()),
        s if s < 7_200.0 => format!("{:.0} min", (s / 60.0).ceil()),
        s => format!("{} h", number::count((s / 3_600.0).ceil() as u64)),
    }
}
