//! The `[[journey]]` tables, `[setup]` and `[teardown]`: which operations are steps of them, and what those may refer
//! to.
//!
//! Not here: a single step (see `step`), performing them (see the engine).

use std::sync::Arc;

use super::operation::{Draft, Reading, bad_name, weight};
use super::step::StepReader;
use super::visibility::{Captures, NamedCapture, Sequence};
use super::workload::{Workload, WorkloadTables};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Node, Reader, Table, Value};
use crate::journey::{AfterFailure, Connections, Journey, Preparation, Repeat, Step};
use crate::rows::Rows;
use crate::template::{Piece, pieces};

/// Keys that an operation has only where it begins on its own, with what has them in the place of a step.
const OF_NO_STEP: [(&str, &str); 4] = [
    ("weight", "has the weight"),
    ("rows", "has the rows"),
    ("when", "has the `when`"),
    ("targets", "performs single requests"),
];
const STEPS: &str = "steps = [\"login\", \"think 2s\", \"list\"], names of operations";

/// A journey or a preparation before it is known which operations the arm has.
struct Course {
    sequence: Sequence,
    rows: Option<Arc<Rows>>,
    /// Whether this arm has it.
    included: bool,
    /// Whether its steps and rows could be read.
    complete: bool,
}

/// Names of the journeys, in order.
fn names(tables: &[&Table]) -> Vec<String> {
    let name = |(place, table): (usize, &&Table)| {
        let given = table.get("name").and_then(|entry| entry.node.as_str());
        given.map_or_else(|| format!("journey-{place}"), str::to_owned)
    };
    (1..).zip(tables).map(name).collect()
}

/// Reads the tables, up to what becomes of the operations; the drafts of those that they name become steps.
pub(super) fn read(
    reading: &mut Reading<'_>,
    tables: &WorkloadTables<'_>,
    drafts: &mut [Draft<'_>],
    places: &mut usize,
) -> Workload {
    let captures = named_captures(drafts);
    let mut all = CourseReader { names: names(&tables.journeys), captures, drafts, places };
    let (mut courses, mut read) = (Vec::new(), Workload::default());
    for (at, table) in tables.journeys.iter().enumerate() {
        let (course, journey) = all.journey(reading, table, at);
        courses.push(course);
        read.journeys.extend(journey);
    }
    for (key, table) in [("setup", tables.setup), ("teardown", tables.teardown)] {
        let Some(table) = table else { continue };
        let (course, preparation) = all.preparation(reading, table, key);
        courses.push(course);
        let to = if key == "setup" { &mut read.setup } else { &mut read.teardown };
        *to = Some(preparation);
    }
    let captures = all.captures;
    let names: Vec<String> = drafts.iter().map(|draft| draft.operation.name.clone()).collect();
    let captures = Captures { all: &captures, operations: &names };
    for (at, draft) in drafts.iter_mut().enumerate() {
        with_courses(draft, at, &courses, &captures, reading.problems);
    }
    renumber(&mut read, drafts);
    read
}

/// Captures of all operations by the names that placeholders use.
fn named_captures(drafts: &[Draft<'_>]) -> Vec<NamedCapture> {
    let of_draft = |(operation, draft): (usize, &Draft<'_>)| {
        let owner = draft.operation.name.clone();
        let named = draft.operation.captures.iter().map(move |capture| NamedCapture {
            name: format!("{owner}.{}", capture.name),
            operation,
            place: capture.place,
            is_list: capture.all,
        });
        named.collect::<Vec<_>>()
    };
    drafts.iter().enumerate().flat_map(of_draft).collect()
}

struct CourseReader<'r, 't> {
    names: Vec<String>,
    captures: Vec<NamedCapture>,
    drafts: &'r mut [Draft<'t>],
    places: &'r mut usize,
}

impl CourseReader<'_, '_> {
    /// One journey; `None` beside its course where this arm does not have it.
    fn journey(
        &mut self,
        reading: &mut Reading<'_>,
        table: &Table,
        at: usize,
    ) -> (Course, Option<Journey>) {
        let mut reader = Reader::new(table);
        let name = self.names[at].clone();
        let title = format!("journey `{name}`");
        if let Some((name, span)) = reader.string("name") {
            bad_name(name, span).into_iter().for_each(|problem| reader.problem(problem));
        }
        let included = reading.when(&mut reader);
        let weight = weight(&mut reader);
        let (rows, order) = reading.rows(&mut reader);
        let sessions = reading.sessions(&mut reader);
        let connections = connections(&mut reader);
        let after_failure = after_failure(&mut reader);
        let nodes = steps_of(&mut reader, table, &title);
        reading.problems.extend(reader.finish());
        let (mut steps, complete) = self.steps(reading, nodes);
        if let Some(entry) = table.get("sessions") {
            let found = self.by_session(&mut steps, complete, entry, table);
            reading.problems.extend(found);
        }
        if complete && !nodes.is_empty() && steps.iter().all(|step| step.operations().is_empty()) {
            let problem = Diagnostic::new(
                table.get("steps").map_or(table.span, |entry| entry.node.span),
                format!("{title} does nothing but think"),
                "expected the name of an operation",
            );
            reading.problems.push(problem);
        }
        let sequence = Sequence { title, steps: steps.clone() };
        let complete = complete && rows.is_some() == table.get("rows").is_some();
        let course = Course { sequence, rows: rows.clone(), included, complete };
        let journey =
            Journey { name, weight, rows, sessions, order, steps, connections, after_failure };
        (course, included.then_some(journey))
    }

    /// Makes those steps perform the requests of a session that have a list of requests.
    fn by_session(
        &self,
        steps: &mut [Step],
        complete: bool,
        sessions: &Entry,
        table: &Table,
    ) -> Option<Diagnostic> {
        if table.get("rows").is_some() {
            let message = "`rows` and `sessions` exclude each other";
            return Some(Diagnostic::new(sessions.key_span, message, "keep one of them"));
        }
        let mut has_list = false;
        for step in steps {
            if let Step::Do(action) = step
                && self.drafts[action.operation].table.get("targets").is_some()
                && action.repeat == Repeat::Once
            {
                action.repeat = Repeat::Session;
                has_list = true;
            }
        }
        (complete && !has_list).then(|| {
            let message = "`sessions` needs a step whose operation has `targets`, without `times`, `each` and `until`";
            let problem = Diagnostic::new(sessions.key_span, message, "needs a list of requests");
            problem.with_hint("give the operation of a step targets = { file = \"requests.txt\" }")
        })
    }

    /// `[setup]` or `[teardown]`.
    fn preparation(
        &mut self,
        reading: &mut Reading<'_>,
        table: &Table,
        key: &str,
    ) -> (Course, Preparation) {
        let mut reader = Reader::new(table);
        let title = format!("[{key}]");
        let (rows, _) = reading.rows(&mut reader);
        if let Some(order) = order_key(table) {
            let message = format!("`order` means nothing in {title}: every row is taken once");
            reader.problem(Diagnostic::new(order, message, "leave this out"));
        }
        let nodes = steps_of(&mut reader, table, &title);
        reading.problems.extend(reader.finish());
        let is_name = |node: &&Node| node.as_str().is_some_and(|text| !is_think(text));
        for node in nodes.iter().filter(|node| !is_name(node)) {
            reading.problems.push(node.unlike(&format!("the name of an operation in {title}")));
        }
        let names: Vec<Node> = nodes.iter().filter(is_name).cloned().collect();
        let (steps, complete) = self.steps(reading, &names);
        let complete = complete && rows.is_some() == table.get("rows").is_some();
        let of_step = |step: &Step| step.operations().to_vec();
        let preparation =
            Preparation { steps: steps.iter().flat_map(of_step).collect(), rows: rows.clone() };
        let sequence = Sequence { title, steps };
        (Course { sequence, rows, included: true, complete }, preparation)
    }

    /// These steps, and whether all of their operations are known.
    fn steps(&mut self, reading: &mut Reading<'_>, nodes: &[Node]) -> (Vec<Step>, bool) {
        let mut reader = StepReader {
            drafts: self.drafts,
            journeys: &self.names,
            captures: &self.captures,
            places: self.places,
            problems: reading.problems,
            incomplete: false,
        };
        let steps = reader.steps(nodes);
        (steps, !reader.incomplete)
    }
}

fn is_think(text: &str) -> bool {
    text.starts_with("think ")
}

/// Place of the key `order` in `rows`.
fn order_key(table: &Table) -> Option<Span> {
    match &table.get("rows")?.node.value {
        Value::Table(rows) => rows.get("order").map(|entry| entry.key_span),
        _ => None,
    }
}

/// The list under `steps`, which must hold something.
fn steps_of<'t>(reader: &mut Reader<'t>, table: &'t Table, title: &str) -> &'t [Node] {
    let nodes = reader.array("steps");
    if table.get("steps").is_none() {
        reader.missing("steps", STEPS);
    }
    if let (Some([]), Some(entry)) = (nodes, table.get("steps")) {
        let message = format!("{title} has no steps");
        let problem = Diagnostic::new(entry.node.span, message, "expected at least one");
        reader.problem(problem.with_hint(format!("write {STEPS}")));
    }
    nodes.unwrap_or_default()
}

fn connections(reader: &mut Reader<'_>) -> Connections {
    let parse = |text: &str| match text {
        "own" => Some(Connections::Own),
        "pool" => Some(Connections::Pool),
        _ => None,
    };
    let given = reader.parsed("connections", "\"own\" or \"pool\"", parse);
    given.map_or(Connections::default(), |(connections, _)| connections)
}

fn after_failure(reader: &mut Reader<'_>) -> AfterFailure {
    let parse = |text: &str| match text {
        "end" => Some(AfterFailure::End),
        "continue" => Some(AfterFailure::Continue),
        _ => None,
    };
    let given = reader.parsed("after_failure", "\"end\" or \"continue\"", parse);
    given.map_or(AfterFailure::default(), |(after, _)| after)
}

/// Makes the operation at this place a step of those courses that perform it.
fn with_courses(
    draft: &mut Draft<'_>,
    at: usize,
    courses: &[Course],
    captures: &Captures<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    let performs =
        |course: &&Course| course.sequence.steps.iter().any(|step| step.operations().contains(&at));
    let all: Vec<&Course> = courses.iter().filter(performs).collect();
    let here: Vec<&Course> = all.iter().copied().filter(|course| course.included).collect();
    let sequences: Vec<&Sequence> = here.iter().map(|course| &course.sequence).collect();
    (draft.operation.visible, draft.operation.hidden) = captures.of(at, &sequences);
    let Some(first) = all.first() else { return };
    draft.operation.is_step = true;
    draft.operation.weight = 0.0;
    let mut everywhere = all.iter().flat_map(|course| &course.sequence.steps);
    let is_listed = everywhere.all(|step| is_session(step, at));
    let own = own_keys(draft.table, &draft.operation.name, &first.sequence.title, is_listed);
    problems.extend(own);
    draft.included &= !here.is_empty();
    draft.judged &= !here.is_empty() && all.iter().all(|course| course.complete);
    let mut steps = sequences.iter().flat_map(|sequence| &sequence.steps);
    draft.operation.has_each = steps.all(|step| has_each(step, at));
    if draft.table.get("rows").is_none() {
        match common_rows(draft, &here) {
            Ok(rows) => draft.operation.rows = rows,
            Err(problem) => {
                draft.judged = false;
                problems.push(problem);
            }
        }
    }
}

/// Whether a step either goes through a list or does not perform the operation.
fn has_each(step: &Step, operation: usize) -> bool {
    match step {
        Step::Do(action) if action.operation == operation => {
            matches!(action.repeat, Repeat::Each { .. })
        }
        step => !step.operations().contains(&operation),
    }
}

/// Whether a step either performs the requests of sessions or does not perform the operation.
fn is_session(step: &Step, operation: usize) -> bool {
    match step {
        Step::Do(action) if action.operation == operation => action.repeat == Repeat::Session,
        step => !step.operations().contains(&operation),
    }
}

/// Keys that a step cannot have; a list of requests only where those are of sessions.
fn own_keys(table: &Table, name: &str, title: &str, is_listed: bool) -> Vec<Diagnostic> {
    let problem = |(key, instead): &(&str, &str)| {
        let entry = table.get(key).filter(|_| *key != "targets" || !is_listed)?;
        let message = format!("`{key}` in `{name}`, which is a step of {title}");
        let label = format!("{title} {instead}");
        let hint = match *key {
            "targets" => {
                "give the operation one request, such as http = { path = \"/\" }, or add `sessions` to the journey".to_owned()
            }
            "rows" => format!("move `rows` to {title}"),
            key => format!("leave `{key}` out here"),
        };
        Some(Diagnostic::new(entry.key_span, message, label).with_hint(hint))
    };
    OF_NO_STEP.iter().filter_map(problem).collect()
}

/// The rows of all courses with an operation.
///
/// Errors: they differ, and the operation refers to them
fn common_rows(draft: &Draft<'_>, courses: &[&Course]) -> Result<Option<Arc<Rows>>, Diagnostic> {
    let Some((first, others)) = courses.split_first() else { return Ok(None) };
    let Some(other) = others.iter().find(|other| !are_same(&first.rows, &other.rows)) else {
        return Ok(first.rows.clone());
    };
    if !draft.table.entries.iter().any(|entry| mentions_row(&entry.node)) {
        return Ok(None);
    }
    let name = &draft.operation.name;
    let (one, other) = (&first.sequence.title, &other.sequence.title);
    let message = format!("{one} and {other} perform `{name}` with different rows");
    let span = draft.table.get("name").map_or(draft.table.span, |entry| entry.node.span);
    let problem = Diagnostic::new(span, message, "refers to a row");
    Err(problem.with_hint("give both the same rows, or each an operation of its own"))
}

fn are_same(one: &Option<Arc<Rows>>, other: &Option<Arc<Rows>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Whether a text in it has `{{row.column}}`.
fn mentions_row(node: &Node) -> bool {
    match &node.value {
        Value::String(text) => pieces(text).iter().any(
            |piece| matches!(piece, Piece::Placeholder { inner, .. } if inner.starts_with("row.")),
        ),
        Value::Array(nodes) => nodes.iter().any(mentions_row),
        Value::Table(table) => table.entries.iter().any(|entry| mentions_row(&entry.node)),
        _ => false,
    }
}

/// From places among the drafts to places among the operations of the arm.
fn renumber(journeys: &mut Workload, drafts: &[Draft<'_>]) {
    let places: Vec<usize> = drafts
        .iter()
        .scan(0, |count, draft| {
            let place = *count;
            *count += usize::from(draft.included);
            Some(place)
        })
        .collect();
    let at = |operation: &mut usize| *operation = places[*operation];
    for step in journeys.journeys.iter_mut().flat_map(|journey| &mut journey.steps) {
        match step {
            Step::Think(_) => {}
            Step::Do(action) => at(&mut action.operation),
            Step::Together(operations) => operations.iter_mut().for_each(at),
        }
    }
    let preparations = [&mut journeys.setup, &mut journeys.teardown].into_iter().flatten();
    preparations.flat_map(|one| &mut one.steps).for_each(at);
}
