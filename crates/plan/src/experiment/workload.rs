//! What an arm performs: operations, journeys, and what comes before and after the load.

use super::factor::Combination;
use super::journey;
use super::operation::Reading;
use crate::diagnostic::Diagnostic;
use crate::document::{Reader, Table};
use crate::journey::{Action, Journey, Preparation, Repeat, Step};
use crate::load::Load;
use crate::operation::{Operation, RowOrder};

/// What to do about a replay that names requests where it cannot.
const NO_COLUMN: &str = "remove the column `request` from that file";

/// The tables that say so.
pub(super) struct WorkloadTables<'t> {
    pub(super) operations: Vec<&'t Table>,
    pub(super) journeys: Vec<&'t Table>,
    pub(super) setup: Option<&'t Table>,
    pub(super) teardown: Option<&'t Table>,
}

impl<'t> WorkloadTables<'t> {
    /// Those of a file.
    pub(super) fn of(reader: &mut Reader<'t>) -> Self {
        Self {
            operations: reader.tables("operation"),
            journeys: reader.tables("journey"),
            setup: reader.table("setup"),
            teardown: reader.table("teardown"),
        }
    }
}

/// What they say of one arm.
#[derive(Debug, Default)]
pub(super) struct Workload {
    pub(super) operations: Vec<Operation>,
    pub(super) journeys: Vec<Journey>,
    pub(super) setup: Option<Preparation>,
    pub(super) teardown: Option<Preparation>,
}

impl Workload {
    /// Reads it. What operations may refer to depends on their journeys, so those come in between.
    pub(super) fn read(reading: &mut Reading<'_>, tables: &WorkloadTables<'_>) -> Self {
        let before = reading.problems.len();
        let mut captures = 0;
        let mut drafts = reading.drafts(&tables.operations, &mut captures);
        let mut workload = journey::read(reading, tables, &mut drafts, &mut captures);
        workload.operations = reading.operations(drafts);
        reading.problems.extend(workload.sessions_of_other_lists(&tables.journeys));
        if let Some(first) = tables.operations.first()
            && reading.problems.len() == before
        {
            let idle = workload.nothing_to_do(first, tables, reading.combination);
            reading.problems.extend(idle);
        }
        workload
    }

    /// Sessions that have more or fewer requests than the list.
    fn sessions_of_other_lists(&self, tables: &[&Table]) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for journey in &self.journeys {
            let Some(sessions) = &journey.sessions else { continue };
            let wrong = journey.steps.iter().find_map(|step| {
                let Step::Do(Action { operation, repeat: Repeat::Session, .. }) = step else {
                    return None;
                };
                let operation = self.operations.get(*operation)?;
                let listed = operation.requests.as_ref()?.len();
                (listed != sessions.requests()).then_some((operation, listed))
            });
            let named = tables.iter().filter_map(|table| table.get("sessions"));
            let mut named = named.filter(|entry| entry.node.as_str() == Some(&sessions.file));
            if let (Some((operation, listed)), Some(entry)) = (wrong, named.next()) {
                let (file, count) = (&sessions.file, sessions.requests());
                let message = format!(
                    "{file} has {count} requests, and the list of `{}` has {listed}",
                    operation.name
                );
                let problem = Diagnostic::new(entry.node.span, message, "of another list");
                problems.push(problem.with_hint("import both files together"));
            }
        }
        problems
    }

    /// A replay whose file names requests that the operations do not have.
    pub(super) fn named_requests(&self, load: &Load, table: Option<&Table>) -> Option<Diagnostic> {
        let most = load.list().filter(|_| load.names_requests())?.greatest_row();
        let entry = table?.get("replay")?;
        let file = entry.node.as_str().unwrap_or_default();
        let alone = self.operations.iter().filter(|one| !one.is_step && one.requests.is_some());
        let lists: Vec<&Operation> = alone.collect();
        let with_sessions = self.journeys.iter().any(|journey| journey.sessions.is_some());
        let (but, hint) = match lists.as_slice() {
            _ if with_sessions => ("a journey has `sessions`".to_owned(), NO_COLUMN),
            [] => ("no operation has `targets`".to_owned(), NO_COLUMN),
            [one] if one.order != RowOrder::RoundRobin => {
                (format!("`{}` has an `order`", one.name), "remove `order`")
            }
            [one] if one.row_count() as u64 > u64::from(most) => return None,
            [one] => {
                let (name, count) = (&one.name, one.row_count());
                (format!("the list of `{name}` has only {count}"), "import both files together")
            }
            _ => (format!("{} operations have `targets`", lists.len()), NO_COLUMN),
        };
        let named = u64::from(most) + 1;
        let message = format!("{file} names requests up to number {named}, but {but}");
        Some(Diagnostic::new(entry.node.span, message, "named here").with_hint(hint))
    }

    /// An arm in which nothing begins, or with weights that are all zero.
    fn nothing_to_do(
        &self,
        first: &Table,
        tables: &WorkloadTables<'_>,
        combination: &Combination<'_>,
    ) -> Option<Diagnostic> {
        let arm = combination.arm_name();
        if self.operations.is_empty() {
            let message = format!("no operation is left in arm {arm}");
            return Some(Diagnostic::new(first.span, message, "every `when` excludes it"));
        }
        let alone = || self.operations.iter().filter(|operation| !operation.is_step);
        if alone().next().is_none() && self.journeys.is_empty() {
            let message = format!("no operation and no journey begins in arm {arm}");
            let label =
                "a step of [setup], of [teardown] or of a journey that this arm does not have";
            return Some(Diagnostic::new(first.span, message, label));
        }
        let of_journeys = self.journeys.iter().map(|journey| journey.weight);
        if alone().map(|operation| operation.weight).chain(of_journeys).sum::<f64>() > 0.0 {
            return None;
        }
        let all = tables.operations.iter().chain(&tables.journeys);
        let span = all.filter_map(|table| Some(table.get("weight")?.node.span)).next();
        let others = if self.journeys.is_empty() { "" } else { " and journeys" };
        let message = format!("the weights of all operations{others} are 0");
        Some(Diagnostic::new(span.unwrap_or_default(), message, "expected one above 0"))
    }
}
