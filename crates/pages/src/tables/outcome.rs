//! Operations that did not succeed, over all trials that count.

use std::collections::BTreeMap;

use record::summary::{Summary, TrialSummary};

use super::Table;
use plan::number::{count, percent};

/// The most kinds of failure in the table.
const KINDS: usize = 6;
/// The most characters of an example of a failure.
const SEEN: usize = 80;

/// A sentence that all operations succeeded, if they and all journeys did; none for a search, where failures are part of the answer.
pub fn none_failed(summary: &Summary) -> Option<String> {
    let (lost, planned) = lost(summary);
    let told = format!("No failures: all {} planned operations succeeded.", count(planned));
    let whole = |trial: &TrialSummary| {
        trial.journeys.iter().all(|one| one.whole.succeeded == one.whole.planned)
    };
    (planned > 0 && lost == 0 && shown(summary).all(whole)).then_some(told)
}

/// How many operations did not succeed, and how many were planned.
fn lost(summary: &Summary) -> (u64, u64) {
    let planned: u64 = shown(summary).map(|trial| trial.accounting.planned).sum();
    let succeeded: u64 = shown(summary).map(|trial| trial.accounting.succeeded).sum();
    (planned.saturating_sub(succeeded), planned)
}

/// Operations that did not succeed, by kind, the most frequent first.
pub fn failures(summary: &Summary) -> Option<Table> {
    let columns = ["operation", "kind", "#count", "#of its operations", "the first one"];
    let (lost, planned) = lost(summary);
    let share = percent(lost as f64 / planned.max(1) as f64);
    let title = format!("Failures: {} of {} operations ({share})", count(lost), count(planned));
    let mut table = Table::new("outcome", title, &columns);
    let mut kinds: Vec<_> = kinds(summary).into_iter().filter(|(_, (lost, _))| *lost > 0).collect();
    kinds.sort_by_key(|(_, (lost, _))| std::cmp::Reverse(*lost));
    for ((operation, kind), (lost, planned)) in kinds.iter().take(KINDS) {
        table.row([
            operation.clone(),
            kind.clone(),
            count(*lost),
            percent(*lost as f64 / (*planned).max(1) as f64),
            seen(summary, operation, kind),
        ]);
    }
    if kinds.len() > KINDS {
        table.note = Some(format!("{} more kinds have fewer.", kinds.len() - KINDS));
    }
    let is_told = table.rows.iter().any(|row| !row[4].is_empty());
    let whole = if is_told { table } else { table.without(4..5) };
    whole.unless_empty()
}

fn shown(summary: &Summary) -> impl Iterator<Item = &TrialSummary> {
    summary.counted().filter(|_| summary.capacity.is_none())
}

/// By operation and kind: how many, and how many were planned.
fn kinds(summary: &Summary) -> BTreeMap<(String, String), (u64, u64)> {
    let mut kinds = BTreeMap::new();
    for operation in shown(summary).flat_map(|trial| &trial.operations) {
        let started = operation.succeeded + operation.failed + operation.abandoned;
        let others = [
            ("abandoned", operation.abandoned),
            ("missed", operation.planned.saturating_sub(started)),
        ];
        let failed = operation.failures.iter().map(|(kind, lost)| (kind.as_str(), *lost));
        for (kind, lost) in failed.chain(others) {
            let entry = kinds.entry((operation.name.clone(), kind.to_owned())).or_insert((0, 0));
            entry.0 += lost;
            entry.1 += operation.planned;
        }
    }
    kinds
}

/// The example that was kept of the first failure of this kind.
fn seen(summary: &Summary, operation: &str, kind: &str) -> String {
    let mut all = shown(summary).flat_map(|trial| &trial.first_failures);
    let first = all.find(|one| one.operation == operation && one.kind == kind);
    let text = first.map_or("", |one| one.seen.as_str());
    let mut short: String = text.chars().take(SEEN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;
    use record::summary::FirstFailure;

    #[test]
    fn failures_are_counted_over_all_trials_that_count() {
        let mut summary = example::summary();
        let again = summary.arms[0].trials[0].clone();
        summary.arms[0].trials.push(again);
        assert_eq!(none_failed(&summary), None);
        let table = failures(&summary).unwrap();
        assert_eq!(table.title, "Failures: 16 of 40,000 operations (0.04 %)");
        assert_eq!(table.rows[0], ["home", "timeout", "10", "0.04 %"]);
        summary.arms[0].trials[0].first_failures.push(FirstFailure {
            operation: "home".into(),
            kind: "timeout".into(),
            seen: "x".repeat(200),
        });
        let table = failures(&summary).unwrap();
        assert_eq!(table.rows[0][4].chars().count(), SEEN + 1);
    }

    #[test]
    fn what_never_began_is_a_failure_too_and_none_is_said_in_words() {
        let mut summary = example::flawless(1);
        assert!(none_failed(&summary).unwrap().starts_with("No failures: all 20,000"));
        assert_eq!(failures(&summary), None);
        let trial = &mut summary.arms[0].trials[0];
        trial.operations[0].succeeded -= 7;
        trial.accounting.succeeded -= 7;
        assert_eq!(failures(&summary).unwrap().rows[0][..3], ["home", "missed", "7"]);
    }
}
