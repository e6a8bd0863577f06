//! The steps of a journey, as the file writes them.

use std::time::Duration;

use super::capture;
use super::condition::{self, WrittenCondition};
use super::operation::Draft;
use super::visibility::{NamedCapture, Provision, provision};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Node, Reader, Table, Value};
use crate::journey::{
    Action, Capture, CaptureSource, Condition, Repeat, STEPS_LIMIT, Step, TOGETHER_LIMIT, Test,
};
use crate::printable::shortened;
use crate::units;

/// Values that `each` goes through where the file sets no limit.
const AT_MOST: u32 = 100;
/// The greatest number of times, or of values.
const MOST_TIMES: u64 = 10_000;
/// Pause between two attempts, and the end of them, of `until`.
const EVERY: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(30);
/// Keys that each say how often an action is performed.
const REPEATS: [&str; 3] = ["times", "each", "until"];
/// Keys that mean something only beside another.
const COMPANIONS: [(&str, &str); 3] =
    [("at_most", "each"), ("every", "until"), ("within", "until")];
const STEP: &str =
    "a step such as \"login\", \"think 2s\", [\"menu\", \"news\"] or { do = \"open\", times = 3 }";

/// Reads steps; what is wrong goes to `problems`.
pub(super) struct StepReader<'r, 't> {
    pub(super) drafts: &'r mut [Draft<'t>],
    /// Names of all journeys.
    pub(super) journeys: &'r [String],
    /// Captures of all operations, as the file has them.
    pub(super) captures: &'r [NamedCapture],
    /// How many captures the arm has.
    pub(super) places: &'r mut usize,
    pub(super) problems: &'r mut Vec<Diagnostic>,
    /// Whether the operation of a step is unknown, so that what later steps refer to is, too.
    pub(super) incomplete: bool,
}

impl StepReader<'_, '_> {
    /// The steps under `steps`.
    pub(super) fn steps(&mut self, nodes: &[Node]) -> Vec<Step> {
        if let Some(node) = nodes.get(STEPS_LIMIT) {
            let message = format!("{} steps (the limit is {STEPS_LIMIT})", nodes.len());
            self.problem(Diagnostic::new(node.span, message, "this is one too many"));
        }
        let mut steps = Vec::with_capacity(nodes.len());
        for node in nodes.iter().take(STEPS_LIMIT) {
            let step = match &node.value {
                Value::String(text) => self.word(text, node.span),
                Value::Array(nodes) => self.together(nodes, node.span),
                Value::Table(table) => self.action(table, &steps).map(Step::Do),
                _ => {
                    self.problem(node.unlike(STEP));
                    None
                }
            };
            self.incomplete |= step.is_none();
            steps.extend(step);
        }
        steps
    }

    /// An operation's name, or a pause.
    fn word(&mut self, text: &str, span: Span) -> Option<Step> {
        let is_operation = self.drafts.iter().any(|draft| draft.operation.name == text);
        let pause = text.strip_prefix("think").filter(|_| !is_operation);
        let Some(pause) = pause.filter(|rest| rest.is_empty() || rest.starts_with(' ')) else {
            let operation = self.operation(text, span)?;
            return Some(Step::Do(Action {
                operation,
                repeat: Repeat::Once,
                share: None,
                when: None,
            }));
        };
        let think = units::parse_think(pause);
        if think.is_none() {
            let at = text.len() - pause.trim_start().len();
            let span = if at < text.len() { span.within(text, at, text.len()) } else { span };
            let given = shortened(pause.trim());
            let message = format!("expected {}, got \"{given}\"", units::PAUSE);
            self.problem(Diagnostic::new(span, message, "a pause needs its unit"));
        }
        think.map(Step::Think)
    }

    /// Operations that begin at the same time.
    fn together(&mut self, nodes: &[Node], span: Span) -> Option<Step> {
        if nodes.is_empty() {
            let message = "a list of operations that is empty";
            self.problem(Diagnostic::new(span, message, "expected the names of operations"));
        }
        if let Some(node) = nodes.get(TOGETHER_LIMIT) {
            let message = format!(
                "{} operations at the same time (the limit is {TOGETHER_LIMIT})",
                nodes.len()
            );
            let problem = Diagnostic::new(node.span, message, "this is one too many");
            self.problem(problem.with_hint("divide them into two steps"));
        }
        let mut operations = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node.as_str() {
                Some(name) => operations.push(self.operation(name, node.span)),
                None => {
                    self.problem(node.unlike("the name of an operation"));
                    operations.push(None);
                }
            }
        }
        // Kept where one of them is unknown: the others are steps all the same.
        self.incomplete |= operations.contains(&None);
        let known: Vec<usize> = operations.into_iter().flatten().collect();
        (!known.is_empty()).then_some(Step::Together(known))
    }

    /// Place of the operation with this name.
    pub(super) fn operation(&mut self, name: &str, span: Span) -> Option<usize> {
        let found = self.drafts.iter().position(|draft| draft.operation.name == name);
        if found.is_none() {
            let known = self.drafts.iter().map(|draft| draft.operation.name.as_str());
            let problem = if self.journeys.iter().any(|journey| journey == name) {
                let message = format!("`{name}` is a journey, and a step is an operation");
                let problem = Diagnostic::new(span, message, "expected the name of an operation");
                let known: Vec<&str> = known.collect();
                problem.with_hint(format!("known here: {}", known.join(", ")))
            } else {
                Diagnostic::unknown("operation", name, span, known)
            };
            self.problem(problem);
        }
        found
    }

    /// A table with `do`.
    fn action(&mut self, table: &Table, before: &[Step]) -> Option<Action> {
        let mut reader = Reader::new(table);
        let operation = reader.string("do").map(|(name, span)| self.operation(name, span));
        if table.get("do").is_none() {
            reader.missing("do", "do = \"NAME\", the operation of the step");
        }
        let operation = operation.flatten();
        let repeat = self.repeat(&mut reader, table, operation, before);
        let share = share(&mut reader);
        let when = reader.string("when").and_then(|(text, span)| self.when(text, span, before));
        self.problems.extend(reader.finish());
        Some(Action { operation: operation?, repeat, share, when })
    }

    fn repeat(
        &mut self,
        reader: &mut Reader<'_>,
        table: &Table,
        operation: Option<usize>,
        before: &[Step],
    ) -> Repeat {
        conflicts(table).into_iter().for_each(|problem| reader.problem(problem));
        let times = reader.count("times", 1, MOST_TIMES).map(|times| times as u32);
        let each = reader.string("each").map(|(text, span)| self.list(text, span, before));
        let at_most = reader.count("at_most", 1, MOST_TIMES).map_or(AT_MOST, |most| most as u32);
        let until = reader.string("until").map(|(text, span)| self.until(text, span, operation));
        self.incomplete |= each == Some(None);
        let every = match reader.duration("every") {
            Some((every, span)) if every.is_zero() => {
                reader.problem(Diagnostic::new(span, "`every` is zero", "expected more than 0s"));
                EVERY
            }
            every => every.map_or(EVERY, |(every, _)| every),
        };
        let within = reader.duration("within").map_or(WITHIN, |(within, _)| within);
        match (times, each.flatten(), until.flatten()) {
            (_, Some(capture), _) => Repeat::Each { capture, at_most },
            (Some(times), None, _) => Repeat::Times(times),
            (None, None, Some(condition)) => Repeat::Until { condition, every, within },
            (None, None, None) => Repeat::Once,
        }
    }

    /// A condition over what an earlier step captured.
    fn when(&mut self, text: &str, span: Span, before: &[Step]) -> Option<Condition> {
        let WrittenCondition { left, span, test } = self.parsed(text, span)?;
        let capture = self.captured(left, span, before)?;
        self.problems.extend(list_as_text(capture.is_list, left, span, &test));
        Some(Condition { capture: capture.place, test })
    }

    /// The list that `each` goes through.
    fn list(&mut self, text: &str, span: Span, before: &[Step]) -> Option<usize> {
        let capture = self.captured(text, span, before)?;
        if !capture.is_list {
            let message = format!("`{text}` is one value, and `each` goes through a list");
            let problem = Diagnostic::new(span, message, "expected a list");
            self.problem(problem.with_hint("add all = true to this capture"));
        }
        Some(capture.place)
    }

    /// A capture of an earlier step.
    fn captured(&mut self, name: &str, span: Span, before: &[Step]) -> Option<NamedCapture> {
        let Some(capture) = self.captures.iter().find(|capture| capture.name == name) else {
            let known = self.captures.iter().map(|capture| capture.name.as_str());
            let problem = Diagnostic::unknown("captured value", name, span, known);
            self.problem(problem);
            return None;
        };
        if !self.incomplete && provision(before, capture.operation) == Provision::Never {
            let operation = &self.drafts[capture.operation].operation.name;
            let message = format!("no step before this one performs `{operation}`");
            let problem = Diagnostic::new(span, message, "never has a value here");
            self.problem(problem.with_hint(format!("move this step behind `{operation}`")));
        }
        Some(capture.clone())
    }

    /// A condition over the step's own answer.
    fn until(&mut self, text: &str, span: Span, operation: Option<usize>) -> Option<Condition> {
        let WrittenCondition { left, span, test } = self.parsed(text, span)?;
        let draft = &mut self.drafts[operation?];
        let owner = draft.operation.name.as_str();
        let own = left.strip_prefix(owner).and_then(|rest| rest.strip_prefix('.')).unwrap_or(left);
        let captures = &mut draft.operation.captures;
        if let Some(known) = captures.iter().find(|capture| capture.name == own) {
            self.problems.extend(list_as_text(known.all, left, span, &test));
            return Some(Condition { capture: known.place, test });
        }
        if left.starts_with('$') {
            let place = *self.places;
            *self.places += 1;
            captures.push(from_answer(left, place, span));
            return Some(Condition { capture: place, test });
        }
        let known = captures.iter().map(|capture| capture.name.as_str());
        let what = format!("capture of `{owner}`");
        let problem = Diagnostic::unknown(&what, left, span, known);
        let hint = "write a JSONPath into its answer, such as $.state == 'done'";
        self.problem(problem.with_hint(hint));
        None
    }

    fn parsed<'t>(&mut self, text: &'t str, span: Span) -> Option<WrittenCondition<'t>> {
        let parsed = condition::parse(text, span);
        parsed.map_err(|problem| self.problem(problem)).ok()
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }
}

/// The problem that a list is compared as if it were a text.
fn list_as_text(is_list: bool, name: &str, span: Span, test: &Test) -> Option<Diagnostic> {
    if !is_list || !matches!(test, Test::Is(_) | Test::IsNot(_)) {
        return None;
    }
    let message = format!("`{name}` is a list of values");
    let problem = Diagnostic::new(span, message, "a list is no text");
    Some(problem.with_hint(format!("compare its length: {name} > 0")))
}

/// What `until` reads from an answer by itself. No capture of the file has such a name.
fn from_answer(path: &str, place: usize, span: Span) -> Capture {
    let source = CaptureSource::Json(path.to_owned());
    Capture { optional: true, ..capture::plain(path, source, place, span) }
}

/// Keys that exclude each other, and keys without the one that they belong to.
fn conflicts(table: &Table) -> Vec<Diagnostic> {
    let is_repeat = |entry: &&Entry| REPEATS.contains(&entry.key.as_str());
    let present: Vec<&Entry> = table.entries.iter().filter(is_repeat).collect();
    let pairs = present.windows(2).map(|pair| {
        let message = format!("`{}` and `{}` exclude each other", pair[0].key, pair[1].key);
        Diagnostic::new(pair[1].key_span, message, "keep one of them")
    });
    let orphans = COMPANIONS.iter().filter_map(|(key, owner)| {
        let entry = table.get(key).filter(|_| table.get(owner).is_none())?;
        let message = format!("`{key}` means nothing without `{owner}`");
        Some(Diagnostic::new(entry.key_span, message, "stands alone here"))
    });
    pairs.chain(orphans).collect()
}

fn share(reader: &mut Reader<'_>) -> Option<f64> {
    let (share, span) = reader.parsed("share", units::PERCENTAGE, units::parse_percentage)?;
    if share <= 0.0 || share > 1.0 {
        let message = format!("a share of {}% is out of range", share * 100.0);
        reader.problem(Diagnostic::new(span, message, "expected more than 0% and at most 100%"));
    }
    Some(share)
}
