//! One arm: the file with the levels of one combination filled in.

use std::collections::HashMap;
use std::sync::Arc;

use super::factor::{Combination, Factor};
use super::operation::Reading;
use super::placeholder::Started;
use super::request::ExperimentContext;
use super::workload::{Workload, WorkloadTables};
use super::{fault, load, operation, process, reported_names, resolve, settings, target};
use crate::diagnostic::Diagnostic;
use crate::document::{Reader, Table};
use crate::plan::Arm;
use crate::rows::Rows;

/// What all arms are built from.
pub(super) struct Arms<'a> {
    pub(super) root: &'a Table,
    pub(super) factors: &'a [Factor],
    pub(super) world: ExperimentContext<'a>,
    pub(super) rows: HashMap<String, Arc<Rows>>,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Settings without effect, once for each arm in which they have none.
    pub(super) idle: Vec<Diagnostic>,
}

impl<'a> Arms<'a> {
    pub(super) fn new(
        root: &'a Table,
        factors: &'a [Factor],
        world: ExperimentContext<'a>,
    ) -> Self {
        let (rows, problems, warnings, idle) = Default::default();
        Self { root, factors, world, rows, problems, warnings, idle }
    }

    /// Builds the arm of this combination; adds problems to `problems`.
    pub(super) fn build(&mut self, combination: &Combination<'_>) -> Arm {
        let tables = self.resolved(combination);
        // Unknown keys of the top level are reported once, by the caller.
        let mut reader = Reader::new(&tables);
        let problems = &mut self.problems;
        let (world, no_load) = (self.world, Table::default());
        let mut load = load::read(reader.table("load").unwrap_or(&no_load), world.inputs, problems);
        let shared = reader.table("target").map(|table| target::shared(table, world, problems));
        let services = process::services(&reader.tables("service"), problems);
        let mut system = reader
            .table("system")
            .and_then(|table| process::system(table, self.world.known, problems));
        let observers = process::observers(&reader.tables("observer"), self.world.known, problems);
        let is_system = tables.get("system").is_some();
        let known = self.world.known;

        let started = Started::of(&services, is_system, system.as_ref(), &observers, known);
        problems.extend(started.strangers(&tables));
        let (wrong, idle) = settings::judged(&tables, known, started.names(), system.as_mut());
        problems.extend(wrong);
        self.idle.extend(idle);
        let faults = fault::read(&reader.tables("fault"), &started, &load, problems);
        let mut reading = Reading {
            world: self.world,
            traced: self.root.get("trace").is_some(),
            factors: self.factors,
            combination,
            shared: shared.as_ref().map(|shared| &shared.target),
            system: is_system,
            rows: &mut self.rows,
            problems,
            targets: Vec::new(),
        };
        let workload = Workload::read(&mut reading, &WorkloadTables::of(&mut reader));
        let operations = &workload.operations;
        reading.add_targets(shared.iter().flat_map(|shared| &shared.also), operations);
        let targets = reading.targets;
        problems.extend(workload.named_requests(&load, reader.table("load")));
        load::connect_journeys(reader.table("load"), &mut load, &workload.journeys);
        problems.extend(load::without_streams(reader.table("load"), &load, operations, known));
        let names = reported_names::expectations(
            &reader.tables("observer"),
            system.as_ref(),
            operations,
            known,
        );
        problems.extend(names.problems);
        self.warnings.extend(names.warnings);
        Arm {
            name: combination.arm_name(),
            factors: combination.levels(),
            values: combination.values(),
            targets,
            load,
            operations: workload.operations,
            journeys: workload.journeys,
            setup: workload.setup,
            teardown: workload.teardown,
            services,
            system,
            observers,
            faults,
        }
    }

    /// Reports problems that only all arms together show: settings without effect in any of them, and parts that no
    /// target reports.
    pub(super) fn together(&mut self, arms: &[Arm]) {
        let everywhere =
            |one: &&Diagnostic| self.idle.iter().filter(|other| other == one).count() == arms.len();
        self.warnings.extend(self.idle.iter().filter(everywhere).cloned());
        let names = reported_names::parts(arms, self.world.known);
        self.problems.extend(names.problems);
        self.warnings.extend(names.warnings);
    }

    /// The tables that differ between arms, with levels filled in and load settings merged.
    fn resolved(&mut self, combination: &Combination<'_>) -> Table {
        let mut tables = self.root.clone();
        tables.entries.retain(|entry| entry.key != "factors" && entry.key != "comparison");
        let base = tables.entries.iter().find(|entry| entry.key == "load").cloned();
        if let Some(mut entry) = base
            && let crate::document::Value::Table(table) = &entry.node.value
            && let Some(merged) = load::merged(Some(table), combination)
        {
            entry.node.value = crate::document::Value::Table(merged);
            tables.entries.retain(|entry| entry.key != "load");
            tables.entries.push(entry);
        } else if tables.get("load").is_none()
            && let Some(merged) = load::merged(None, combination)
        {
            let span = merged.span;
            let node = crate::document::Node { span, value: crate::document::Value::Table(merged) };
            tables.entries.push(crate::document::Entry {
                key: "load".to_owned(),
                key_span: span,
                node,
            });
        }
        resolve::factors(&tables, combination, &mut self.problems)
    }
}

pub(super) use operation::duplicates;
