//! Planned operations, their outcomes, and the observers' counts: one table for all arms.

use std::collections::BTreeMap;

use plan::expectation::{self, ExpectationTerm, Inequality, ObserverCount};
use record::summary::{Arm, CountsFor, Observer, Operation, Summary, TrialSummary};

use super::Table;
use super::arms::Arms;
use plan::number;

/// Every arm and operation over all trials that count, if there is more than one arm or an observer.
///
/// An observer counts for an arm as a whole: its figures are in the arm's last line.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    let arms: Vec<ArmCounts> = summary.arms.iter().map(ArmCounts::of).collect();
    let mut observers: Vec<&str> =
        arms.iter().flat_map(|arm| arm.observers.keys().copied()).collect();
    observers.sort_unstable();
    observers.dedup();
    let has_arms = arms.len() > 1;
    // The table of a search's steps has the same figures.
    if (!has_arms && observers.is_empty()) || summary.capacity.is_some() {
        return None;
    }
    let columns = [
        "arm",
        "operation",
        "#planned",
        "#succeeded",
        "observer",
        "#received",
        "#missing",
        "#damaged",
        "otherwise",
    ];
    let title = if has_arms { "Accounting by arm" } else { "Accounting" };
    let has_journeys = summary.counted().any(|trial| !trial.journeys.is_empty());
    let mut table = Table::new("accounting-by-arm", title, &columns);
    let named = name_counts(&mut table, &arms);
    let names = Arms::head(summary, &mut table, 0);
    if has_journeys {
        table.columns[1].title = "journey or operation".to_owned();
    }
    arms.iter().for_each(|arm| arm.push(&names, named, &mut table));
    if !observers.is_empty() {
        table.note = Some(note(&observers, &table));
    }
    // From the right, so that the other positions stay the same.
    for place in [7, 6, 5] {
        if table.rows.iter().all(|row| row[place] == NOTHING) {
            table = table.without(place..place + 1);
        }
    }
    if observers.len() < 2 {
        table = table.without(4..5);
    }
    Some(if has_arms { table } else { table.without(0..1) })
}

/// If all observers count the same thing, names it in the head of the column; returns whether they do.
fn name_counts(table: &mut Table, arms: &[ArmCounts<'_>]) -> bool {
    let mut counts = arms.iter().flat_map(|arm| arm.observers.values()).map(|seen| seen.counts);
    let Some(first) = counts.next() else { return true };
    let same = counts.all(|other| other == first);
    table.columns[5].title = match (same, first) {
        (false, _) => "counted".to_owned(),
        (true, None) => "received".to_owned(),
        (true, Some(what)) => plan::printable::printable(what).into_owned(),
    };
    same
}

/// Explains only columns that the table shows.
fn note(observers: &[&str], table: &Table) -> String {
    let who = match observers {
        [one] => format!("observer {one} counts"),
        _ => "its observer counts".to_owned(),
    };
    let has = |place: usize| table.rows.iter().any(|row| row[place] != NOTHING);
    let mut heads = vec![table.columns[5].title.clone()];
    let mut meanings = String::new();
    if has(6) {
        heads.push("missing".to_owned());
        meanings.push_str(" Missing was sent and did not arrive.");
    }
    if has(7) {
        heads.push("damaged".to_owned());
        meanings.push_str(" Damaged arrived changed, where that is looked at.");
    }
    let heads = heads.join(", ");
    let (first, rest) = heads.split_at(heads.chars().next().map_or(0, char::len_utf8));
    let heads = first.to_uppercase() + rest;
    format!("{heads}: as {who}, with what the warm-up sent.{meanings}")
}

/// A cell without a value.
const NOTHING: &str = "–";

/// All trials of an arm that count, together.
struct ArmCounts<'a> {
    arm: &'a str,
    /// Each journey, each operation, and all operations where there are several.
    lines: Vec<OperationCounts<'a>>,
    observers: BTreeMap<&'a str, ObserverCounts<'a>>,
}

#[derive(Default)]
struct OperationCounts<'a> {
    operation: &'a str,
    planned: u64,
    succeeded: u64,
    /// How many did not succeed, by kind.
    others: BTreeMap<&'a str, u64>,
}

#[derive(Default)]
struct ObserverCounts<'a> {
    /// The thing that `received` counts, if the observer names it.
    counts: Option<&'a str>,
    received: u64,
    /// Only if something is missing, or the observer counts arrival.
    missing: Option<u64>,
    /// Only if the observer checks for damage.
    damaged: Option<u64>,
}

impl<'a> ArmCounts<'a> {
    fn of(arm: &'a Arm) -> Self {
        let mut counted = Self { arm: &arm.name, lines: Vec::new(), observers: BTreeMap::new() };
        let trials = arm.trials.iter().filter(|trial| trial.counts_for == CountsFor::Judgement);
        trials.for_each(|trial| counted.add(trial));
        counted
    }

    fn add(&mut self, trial: &'a TrialSummary) {
        for journey in &trial.journeys {
            self.line(&journey.whole.name).add(&journey.whole);
        }
        let total = (trial.operations.len() > 1).then_some(&trial.total);
        for operation in trial.operations.iter().chain(total) {
            self.line(&operation.name).add(operation);
        }
        for observer in trial.observers.iter().filter(|one| one.unanswered.is_none()) {
            let seen = self.observers.entry(&observer.name).or_default();
            seen.counts = observer.counts.as_deref();
            seen.received += observer.received;
            if observer.lost > 0 || is_of_arrival(observer) {
                *seen.missing.get_or_insert(0) += observer.lost;
            }
            if let Some(damaged) = observer.detail.get("damaged").and_then(|it| it.as_u64()) {
                *seen.damaged.get_or_insert(0) += damaged;
            }
        }
    }

    fn line(&mut self, operation: &'a str) -> &mut OperationCounts<'a> {
        let known = self.lines.iter().position(|line| line.operation == operation);
        let place = known.unwrap_or_else(|| {
            self.lines.push(OperationCounts { operation, ..OperationCounts::default() });
            self.lines.len() - 1
        });
        &mut self.lines[place]
    }

    fn push(&self, names: &Arms, named: bool, table: &mut Table) {
        let last = self.lines.len().max(1) - 1;
        let mut observers = self.observers.iter();
        for place in 0..last + self.observers.len().max(1) {
            let [operation, planned, succeeded, others] =
                self.lines.get(place).map_or_else(blank, OperationCounts::cells);
            let seen = if place < last { None } else { observers.next() };
            let [observer, received, missing, damaged] =
                seen.map_or_else(blank, |(name, seen)| seen.cells(name, named));
            table.row([
                names.cell(self.arm),
                operation,
                planned,
                succeeded,
                observer,
                received,
                missing,
                damaged,
                others,
            ]);
        }
    }
}

/// Whether the observer counts arrival: it has no expectation, or one that is not only about its own details.
fn is_of_arrival(observer: &Observer) -> bool {
    let asks = |term: ExpectationTerm<'_>| {
        matches!(term.count(), Some(ObserverCount::Received | ObserverCount::Lost))
    };
    observer.expect.as_ref().is_none_or(|expect| {
        expectation::parse(&expect.text)
            .is_ok_and(|read| read.iter().flat_map(Inequality::terms).any(asks))
    })
}

fn blank() -> [String; 4] {
    std::array::from_fn(|_| NOTHING.to_owned())
}

impl<'a> OperationCounts<'a> {
    fn add(&mut self, operation: &'a Operation) {
        let finished = operation.succeeded + operation.failed + operation.abandoned;
        self.planned += operation.planned;
        self.succeeded += operation.succeeded;
        let kinds = operation.failures.iter().map(|(kind, &count)| (kind.as_str(), count));
        let missed = operation.planned.saturating_sub(finished);
        for (kind, count) in kinds.chain([("missed", missed), ("abandoned", operation.abandoned)]) {
            if count > 0 {
                *self.others.entry(kind).or_default() += count;
            }
        }
    }

    fn cells(&self) -> [String; 4] {
        let others: Vec<String> = self
            .others
            .iter()
            .map(|(kind, &count)| format!("{kind} {}", number::count(count)))
            .collect();
        let others = if others.is_empty() { "–".to_owned() } else { others.join(", ") };
        [
            self.operation.to_owned(),
            number::count(self.planned),
            number::count(self.succeeded),
            others,
        ]
    }
}

impl ObserverCounts<'_> {
    /// The cells of an observer; they name what is counted unless the column's head does.
    fn cells(&self, observer: &str, named: bool) -> [String; 4] {
        let or_nothing =
            |count: Option<u64>| count.map_or_else(|| NOTHING.to_owned(), number::count);
        let received = number::count(self.received);
        let what = self.counts.filter(|_| !named);
        [
            observer.to_owned(),
            what.map_or_else(|| received.clone(), |what| format!("{received} {what}")),
            or_nothing(self.missing),
            or_nothing(self.damaged),
        ]
    }
}

#[cfg(test)]
mod tests;
