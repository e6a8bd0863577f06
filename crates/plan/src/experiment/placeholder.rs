//! `{NAME}` in an address: checks placeholders of the launcher against the processes that will be started.
//!
//! In settings and commands, braces may belong to the program. There only two cases are refused: a name that nearly
//! matches one of ours (in settings), and an address that no started process has.
//!
//! Not here: `{{…}}` (see `resolve` and the templates).

use std::collections::BTreeMap;

use super::reported_names;
use super::request::{KnownNames, ReportedNames};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Table, Value};
use crate::process::{Observer, Service, System};

/// Keys of a target with placeholders for the launcher.
const FILLED: [&str; 3] = ["url", "connect_to", "unix_socket"];

/// The names that refer to processes in one arm.
pub(super) struct Started {
    names: Vec<String>,
    /// The names that they report, if known.
    told: BTreeMap<String, ReportedNames>,
}

impl Started {
    /// `is_system`: whether there is a system. `system`: the system, if it can be read.
    pub(super) fn of(
        services: &[Service],
        is_system: bool,
        system: Option<&System>,
        observers: &[Observer],
        known: &dyn KnownNames,
    ) -> Self {
        let own = is_system.then(|| "system".to_owned());
        let of_system =
            system.and_then(|one| reported_names::of_process(&one.start, &one.set, known));
        let of_system = own.clone().zip(of_system);
        let of_observers = observers.iter().filter_map(|one| {
            let tells = reported_names::of_process(one.start.as_ref()?, &one.set, known)?;
            Some((one.name.clone(), tells))
        });
        let told = of_observers.chain(of_system).collect();
        let services = services.iter().map(|service| service.name.clone());
        let observers = observers.iter().map(|observer| observer.name.clone());
        Self { names: services.chain(own).chain(observers).collect(), told }
    }

    /// The names of all started processes.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The parts of this process by name, if known.
    pub(super) fn parts(&self, process: &str) -> Option<&[String]> {
        self.told.get(process).map(|tells| tells.processes.as_slice())
    }

    /// Reports placeholders of `[target]` and of the operations' own targets that nothing fills, and certain mistakes
    /// in settings and commands.
    pub(super) fn strangers(&self, root: &Table) -> Vec<Diagnostic> {
        let shared = root.get("target").map(|entry| &entry.node);
        let operations = match root.get("operation").map(|entry| &entry.node.value) {
            Some(Value::Array(operations)) => operations.as_slice(),
            _ => &[],
        };
        let own = operations.iter().filter_map(|operation| match &operation.value {
            Value::Table(table) => Some(&table.get("target")?.node),
            _ => None,
        });
        let targets = shared.into_iter().chain(own).flat_map(|target| self.of_target(target));
        targets.chain(self.of_processes(root)).collect()
    }

    /// Reports placeholders in settings that nearly match the name of a process, and placeholders in settings and
    /// commands for an address that the process will not have.
    fn of_processes(&self, root: &Table) -> Vec<Diagnostic> {
        let keys = ["service", "system", "observer"].into_iter();
        let nodes = keys.filter_map(|key| Some(&root.get(key)?.node));
        let tables = nodes.flat_map(|node| match &node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        });
        let mut problems = Vec::new();
        for node in tables {
            let Value::Table(table) = &node.value else { continue };
            if let Some(command) = table.get("command").map(|entry| &entry.node) {
                problems.extend(self.lacking(command));
            }
            let Some(Value::Table(set)) = table.get("set").map(|entry| &entry.node.value) else {
                continue;
            };
            for node in set.entries.iter().map(|entry| &entry.node) {
                let mut strangers = self.unfilled(node);
                strangers.retain(|problem| problem.label.starts_with("did you mean"));
                problems.extend(strangers.into_iter().chain(self.lacking(node)));
            }
        }
        problems
    }

    fn of_target(&self, target: &Node) -> Vec<Diagnostic> {
        match &target.value {
            Value::String(_) => self.of_text(target),
            Value::Table(table) => {
                let filled = FILLED.iter().filter_map(|key| Some(&table.get(key)?.node));
                let also = table.get("also").map(|entry| self.of_target(&entry.node));
                filled
                    .flat_map(|node| self.of_text(node))
                    .chain(also.into_iter().flatten())
                    .collect()
            }
            Value::Array(targets) => {
                targets.iter().flat_map(|target| self.of_target(target)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_text(&self, node: &Node) -> Vec<Diagnostic> {
        self.unfilled(node).into_iter().chain(self.lacking(node)).collect()
    }

    /// Placeholders with an unknown name.
    fn unfilled(&self, node: &Node) -> Vec<Diagnostic> {
        let text = node.as_str().unwrap_or_default();
        let unfilled = |(start, end): (usize, usize)| {
            let name = &text[start + 1..end - 1];
            let owner = name.split_once('.').map_or(name, |(owner, _)| owner);
            let is_ours = self.names.iter().any(|known| known == name || known == owner);
            (!is_ours).then(|| self.stranger(name, node.span.within(text, start, end)))
        };
        placeholders(text).into_iter().filter_map(unfilled).collect()
    }

    /// Placeholders for an address that the named process will not have.
    fn lacking(&self, node: &Node) -> Vec<Diagnostic> {
        let text = node.as_str().unwrap_or_default();
        let lacking = |(start, end): (usize, usize)| {
            let (owner, key) = text[start + 1..end - 1].rsplit_once('.')?;
            let known = &self.told.get(owner)?.listening;
            let span = node.span.within(text, end - 1 - key.len(), end - 1);
            let what = format!("address of `{owner}`");
            let problem =
                || Diagnostic::unknown(&what, key, span, known.iter().map(String::as_str));
            (!known.iter().any(|one| one == key)).then(problem)
        };
        placeholders(text).into_iter().filter_map(lacking).collect()
    }

    fn stranger(&self, name: &str, span: Span) -> Diagnostic {
        let (owner, key) = name.split_once('.').map_or((name, ""), |(owner, key)| (owner, key));
        let mut known: Vec<String> = self.names.clone();
        if !key.is_empty() {
            known.extend(self.names.iter().map(|known| format!("{known}.{key}")));
        }
        let problem =
            Diagnostic::unknown("placeholder", name, span, known.iter().map(String::as_str));
        if self.names.is_empty() {
            return problem.with_hint(format!("no process named `{{{owner}}}` is started"));
        }
        problem.with_hint(format!("started here: {}", self.names.join(", ")))
    }
}

/// Start and end of placeholders with their braces; double braces are templates.
fn placeholders(text: &str) -> Vec<(usize, usize)> {
    let masked = text.replace("{{", "  ");
    let ends = |(start, _)| Some((start, start + masked[start..].find('}')? + 1));
    masked.match_indices('{').filter_map(ends).collect()
}
