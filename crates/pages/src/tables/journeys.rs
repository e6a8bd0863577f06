//! Journeys of a trial: what became of them, their times with and without thinking, and how far they came.

use record::StepTotals;
use record::summary::{Distribution, Journey, Operation, TrialSummary};

use super::{Table, times};
use plan::number::{count, percent};

/// The id of the tables that a form may draw.
pub const FUNNEL: &str = "funnel";

/// For the answer: what became of them, their main times, and how far they came.
pub fn in_short(trial: &TrialSummary) -> Vec<Table> {
    let tables = [accounting(trial), times_in_short(trial)];
    tables.into_iter().flatten().chain(trial.journeys.iter().map(funnel)).collect()
}

/// Every table of a trial's journeys.
pub fn all(trial: &TrialSummary) -> Vec<Table> {
    let tables = [accounting(trial), whole(trial), without_thinking(trial), outcome(trial)];
    tables.into_iter().flatten().chain(trial.journeys.iter().map(funnel)).collect()
}

fn accounting(trial: &TrialSummary) -> Option<Table> {
    let columns = ["journey", "#planned", "#succeeded", "#failed", "#abandoned", "#missed"];
    let mut table = Table::new("journeys", "Journeys", &columns)
        .note("planned = succeeded + failed + abandoned + missed");
    for one in trial.journeys.iter().map(|journey| &journey.whole) {
        table.row([
            one.name.clone(),
            count(one.planned),
            count(one.succeeded),
            count(one.failed),
            count(one.abandoned),
            count(one.missed()),
        ]);
    }
    table.unless_empty()
}

/// Two lines a journey: with and without thinking.
fn times_in_short(trial: &TrialSummary) -> Option<Table> {
    let lines = trial.journeys.iter().flat_map(|journey| {
        let whole = &journey.whole;
        let name = |time: &str| vec![whole.name.clone(), time.to_owned()];
        [(name("whole"), &whole.response_time), (name("without thinking"), &whole.service_time)]
    });
    let table = Table::new("journey-times", "Journey time", &["journey", "time"]);
    times::compact_table(table, trial, "Of journeys that succeeded", lines.collect())
}

fn whole(trial: &TrialSummary) -> Option<Table> {
    let note = "From the planned start to the last answer, of journeys that succeeded.";
    let table = table("journey-time", "Journey time", note);
    filled(table, trial, |one| &one.response_time)
}

fn without_thinking(trial: &TrialSummary) -> Option<Table> {
    let note = "Journey time without the think times of its steps, of journeys that succeeded.";
    let table = table("journey-service-time", "Journey time without thinking", note);
    filled(table, trial, |one| &one.service_time)
}

fn outcome(trial: &TrialSummary) -> Option<Table> {
    if trial.journeys.iter().all(|one| one.whole.succeeded == one.whole.planned) {
        return None;
    }
    let note = "Journey time in which failed, abandoned and missed journeys count as slower than all others: what \
                criteria are judged on.";
    let table = table("journey-outcome-time", "Outcome time of journeys", note);
    filled(table, trial, |one| &one.outcome_time)
}

fn table(id: &'static str, title: &str, note: &str) -> Table {
    let mut columns = times::COLUMNS;
    columns[0] = "journey";
    Table::new(id, title, &columns).note(note)
}

fn filled(
    mut table: Table,
    trial: &TrialSummary,
    times: fn(&Operation) -> &Distribution,
) -> Option<Table> {
    let is_main = table.id == "journey-time";
    for one in trial.journeys.iter().map(|journey| &journey.whole) {
        times::push(&mut table, trial, (&one.name, times(one)), is_main);
    }
    table.unless_empty()
}

/// How far the journeys came, a line a step. Shares are those of the journeys that were begun.
fn funnel(journey: &Journey) -> Table {
    let columns =
        ["step", "#reached", "#succeeded", "#failed", "#abandoned", "#skipped", "#ended here"];
    let title = format!("Steps of {}", journey.whole.name);
    let begun = journey.whole.started();
    let note = format!("Shares of the {} journeys that were begun.", count(begun));
    let mut table = Table::new(FUNNEL, title, &columns).note(note);
    for step in &journey.steps {
        let StepTotals { name, reached, succeeded, failed, abandoned, skipped, ended } = step;
        table.row([
            name.clone(),
            with_share(*reached, begun),
            count(*succeeded),
            count(*failed),
            count(*abandoned),
            count(*skipped),
            with_share(*ended, begun),
        ]);
    }
    table
}

/// A count, and its share of the journeys.
pub fn with_share(part: u64, begun: u64) -> String {
    format!("{} ({})", count(part), percent(part as f64 / begun.max(1) as f64))
}
