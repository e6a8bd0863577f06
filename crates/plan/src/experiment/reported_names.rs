//! Checks names that systems report: counts of observers, and the parts of a target with their own times. Other
//! modules check addresses and processes (see `placeholder` and `fault`).
//!
//! A system that a program serves lists its names in advance, so an unknown name is an error. Other systems' names are
//! known only during the run. A wrong name would make the run inconclusive, so it is a warning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::expectation;
use super::request::{KnownNames, ReportedNames};
use super::settings::text;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::Table;
use crate::operation::{Operation, TargetOf};
use crate::plan::Arm;
use crate::process::{Start, System};

/// Errors and warnings about names.
#[derive(Debug, Default)]
pub(super) struct NameDiagnostics {
    pub(super) problems: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// Checks the expectations of observers.
pub(super) fn expectations(
    observers: &[&Table],
    system: Option<&System>,
    operations: &[Operation],
    known: &dyn KnownNames,
) -> NameDiagnostics {
    let mut told = NameDiagnostics::default();
    for table in observers {
        let Some(node) = table.get("expect").map(|entry| &entry.node) else { continue };
        let Some(text) = node.as_str() else { continue };
        let counts = counts(table, system, known);
        told.problems.extend(expectation::problems(text, node.span, operations));
        for (name, span) in expectation::own(text, node.span, operations) {
            match &counts {
                Some(counts) => told.problems.extend(expectation::uncounted(name, span, counts)),
                None => told.warnings.push(known_only_when_run("the observer", name, span)),
            }
        }
    }
    told
}

/// An observer's own counts, in addition to the common ones; `None` if unknown.
fn counts(table: &Table, system: Option<&System>, known: &dyn KnownNames) -> Option<Vec<String>> {
    let serve = match (table.get("serve"), table.get("command")) {
        (Some(entry), _) => entry.node.as_str(),
        (None, Some(_)) => None,
        (None, None) => system.and_then(|system| match &system.start {
            Start::Serve(name) => Some(name.as_str()),
            Start::Command(_) => None,
        }),
    };
    known.reported_names(serve?, &BTreeMap::new()).map(|tells| tells.counts)
}

/// Checks the parts whose times operations request. If the system of one arm reports a part, all arms may request it.
pub(super) fn parts(arms: &[Arm], known: &dyn KnownNames) -> NameDiagnostics {
    let mut asked: BTreeMap<&str, RequestedPart> = BTreeMap::new();
    for arm in arms {
        let started = arm.system.as_ref().map(|system| (&system.start, &system.set));
        let tells = started.and_then(|(start, set)| of_process(start, set, known));
        for operation in &arm.operations {
            let tells = tells.as_ref().filter(|_| goes_to_system(operation, arm));
            for part in &operation.parts {
                asked.entry(&part.name).or_default().add(part.span, tells);
            }
        }
    }
    let mut told = NameDiagnostics::default();
    for (name, RequestedPart { spans, names, is_open }) in asked {
        if names.contains(name) {
            continue;
        }
        for span in spans {
            if is_open {
                told.warnings.push(known_only_when_run("the target", name, span));
            } else {
                let names = names.iter().map(String::as_str);
                let problem = Diagnostic::unknown("part of the system", name, span, names);
                told.problems.push(problem);
            }
        }
    }
    told
}

/// Places that request a part's times, and the parts that are reported there.
#[derive(Debug, Default)]
struct RequestedPart {
    spans: Vec<Span>,
    names: BTreeSet<String>,
    /// Whether one of the targets may report other names.
    is_open: bool,
}

impl RequestedPart {
    fn add(&mut self, span: Span, tells: Option<&ReportedNames>) {
        if !self.spans.contains(&span) {
            self.spans.push(span);
        }
        self.is_open |= tells.is_none_or(|tells| tells.other_parts);
        self.names.extend(tells.into_iter().flat_map(|tells| tells.parts.iter().cloned()));
    }
}

/// The names that a process started with these settings reports; `None` if unknown.
pub(super) fn of_process(
    start: &Start,
    set: &BTreeMap<String, Json>,
    known: &dyn KnownNames,
) -> Option<ReportedNames> {
    let Start::Serve(name) = start else { return None };
    let set = set.iter().map(|(key, value)| (key.clone(), text(value)));
    known.reported_names(name, &set.collect())
}

fn goes_to_system(operation: &Operation, arm: &Arm) -> bool {
    match &operation.target {
        TargetOf::Fixed(at) => {
            arm.targets.get(*at).is_some_and(|target| target.url.contains("{system"))
        }
        TargetOf::ByRow(_) => false,
    }
}

fn known_only_when_run(who: &str, name: &str, span: Span) -> Diagnostic {
    let message = format!("it is unknown until the run whether {who} reports `{name}`");
    let warning = Diagnostic::new(span, message, "a wrong name would leave the run undecided");
    warning.with_hint("`proofload check --try` shows the answers of the target; an observer answers GET /observed")
}
