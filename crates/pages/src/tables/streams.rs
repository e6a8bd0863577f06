//! Times of operations whose answers are streams of events: to the first one, between them, to the last one.

use record::summary::{Operation, Summary, TrialSummary};

use super::{Table, times};

/// Spans of a stream in reading order, and what they are called.
const TIMES: [(&str, &str); 5] = [
    ("first_event", "first event"),
    ("gap", "gap"),
    ("mean_gap", "mean gap"),
    ("longest_gap", "longest gap"),
    ("last_event", "last event"),
];
/// How many of them are in the answer.
const BRIEF: usize = 3;
const NOTE: &str =
    "First and last event count from the first byte sent; mean and longest gap are of each answer";

/// Whether this span is part of another one: of the time between first and last event.
pub(super) fn is_within(span: &str) -> bool {
    matches!(span, "gap" | "mean_gap" | "longest_gap")
}

/// Main times of the streams of a trial, each cell with its interval in a second line.
pub fn in_short(trial: &TrialSummary) -> Option<Table> {
    let table = Table::new("streams", "Streams of events", &["operation", "time"]);
    let lines = lines(trial, BRIEF)
        .map(|(operation, time, one)| (vec![operation.name.clone(), time.to_owned()], one));
    times::compact_table(table, trial, NOTE, lines.collect())
}

/// Every time of the streams of a trial.
pub fn in_full(trial: &TrialSummary) -> Option<Table> {
    let columns = [&["operation", "time"], &times::COLUMNS[1..]].concat();
    let mut table =
        Table::new("stream-times", "Streams of events", &columns).note(format!("{NOTE}."));
    for (operation, time, one) in lines(trial, TIMES.len()) {
        let mut of_one = Table::new("stream-times", "", &times::COLUMNS);
        times::push(&mut of_one, trial, (time, one), false);
        for row in of_one.rows {
            table.rows.push([vec![operation.name.clone()], row].concat());
        }
    }
    table.unless_empty()
}

/// Main times of the streams of all trials, where these are too many for a table each.
pub fn by_trial(summary: &Summary) -> Option<Table> {
    let trials = summary.arms.iter().flat_map(|arm| arm.trials.iter().map(move |one| (arm, one)));
    let mut all: Option<Table> = None;
    for (arm, trial) in trials {
        let Some(one) = in_short(trial) else { continue };
        let named = |row: Vec<String>| [vec![arm.name.clone()], row].concat();
        let rows = one.rows.into_iter().map(named);
        match &mut all {
            Some(all) => all.rows.extend(rows),
            None => {
                let mut table = Table::new("streams", "Streams of events", &["arm"]);
                table.columns.extend(one.columns);
                table.note = one.note;
                table.rows.extend(rows);
                all = Some(table);
            }
        }
    }
    all
}

/// The distributions of each operation with streams.
fn lines(
    trial: &TrialSummary,
    count: usize,
) -> impl Iterator<Item = (&Operation, &'static str, &record::summary::Distribution)> {
    let with_streams =
        trial.operations.iter().filter(|operation| operation.spans.contains_key(TIMES[0].0));
    with_streams.flat_map(move |operation| {
        let times = TIMES[..count].iter();
        times.filter_map(move |(span, time)| Some((operation, *time, operation.spans.get(*span)?)))
    })
}
