//! What was planned, what became of it, and what was counted where it arrives: one table for all arms.

use std::collections::BTreeMap;

use record::summary::{Arm, CountsFor, Operation, Summary, Trial};

use super::Table;
use super::arms::Arms;
use crate::number;

/// Every arm and operation over all trials that count, where there is more than one arm or anybody who observes.
///
/// An observer counts for an arm as a whole: its figures stand beside the arm's last line.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    let arms: Vec<Counted> = summary.arms.iter().map(Counted::of).collect();
    let mut observers: Vec<&str> =
        arms.iter().flat_map(|arm| arm.observers.keys().copied()).collect();
    observers.sort_unstable();
    observers.dedup();
    let has_arms = arms.len() > 1;
    // The steps of a search say the same, in their order.
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
    let mut table = Table::new("accounting-by-arm", title, &columns);
    if !observers.is_empty() {
        table = table.note(note(&observers));
    }
    let names = Arms::head(summary, &mut table, 0);
    arms.iter().for_each(|arm| arm.push(&names, &mut table));
    Some(match (has_arms, observers.len()) {
        (true, 0) => table.without(4..8),
        (true, 1) => table.without(4..5),
        (false, 1) => table.without(4..5).without(0..1),
        (false, _) => table.without(0..1),
        (true, _) => table,
    })
}

fn note(observers: &[&str]) -> String {
    let who = match observers {
        [one] => format!("observer {one} counts"),
        _ => "its observer counts".to_owned(),
    };
    format!(
        "Received, missing and damaged: as {who} where it arrives, with what the warm-up sent. Missing was sent and did \
         not arrive; damaged arrived changed, where that is looked at."
    )
}

/// All trials of an arm that count, together.
struct Counted<'a> {
    arm: &'a str,
    /// Each operation, and all of them where there are several.
    lines: Vec<Line<'a>>,
    observers: BTreeMap<&'a str, Seen>,
}

#[derive(Default)]
struct Line<'a> {
    operation: &'a str,
    planned: u64,
    succeeded: u64,
    /// How many did not succeed, by kind.
    others: BTreeMap<&'a str, u64>,
}

#[derive(Default)]
struct Seen {
    received: u64,
    missing: u64,
    /// Where the observer looks.
    damaged: Option<u64>,
}

impl<'a> Counted<'a> {
    fn of(arm: &'a Arm) -> Self {
        let mut counted = Self { arm: &arm.name, lines: Vec::new(), observers: BTreeMap::new() };
        let trials = arm.trials.iter().filter(|trial| trial.counts_for == CountsFor::Judgement);
        trials.for_each(|trial| counted.add(trial));
        counted
    }

    fn add(&mut self, trial: &'a Trial) {
        let total = (trial.operations.len() > 1).then_some(&trial.total);
        for operation in trial.operations.iter().chain(total) {
            self.line(&operation.name).add(operation);
        }
        for observer in trial.observers.iter().filter(|one| one.unanswered.is_none()) {
            let seen = self.observers.entry(&observer.name).or_default();
            seen.received += observer.received;
            seen.missing += observer.lost;
            if let Some(damaged) = observer.detail.get("damaged").and_then(|it| it.as_u64()) {
                *seen.damaged.get_or_insert(0) += damaged;
            }
        }
    }

    fn line(&mut self, operation: &'a str) -> &mut Line<'a> {
        let known = self.lines.iter().position(|line| line.operation == operation);
        let place = known.unwrap_or_else(|| {
            self.lines.push(Line { operation, ..Line::default() });
            self.lines.len() - 1
        });
        &mut self.lines[place]
    }

    fn push(&self, names: &Arms, table: &mut Table) {
        let last = self.lines.len().max(1) - 1;
        let mut observers = self.observers.iter();
        for place in 0..last + self.observers.len().max(1) {
            let [operation, planned, succeeded, others] =
                self.lines.get(place).map_or_else(blank, Line::cells);
            let seen = if place < last { None } else { observers.next() };
            let [observer, received, missing, damaged] =
                seen.map_or_else(blank, |(name, seen)| seen.cells(name));
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

fn blank() -> [String; 4] {
    std::array::from_fn(|_| "–".to_owned())
}

impl<'a> Line<'a> {
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

impl Seen {
    fn cells(&self, observer: &str) -> [String; 4] {
        [
            observer.to_owned(),
            number::count(self.received),
            number::count(self.missing),
            self.damaged.map_or_else(|| "–".to_owned(), number::count),
        ]
    }
}

#[cfg(test)]
mod tests;
