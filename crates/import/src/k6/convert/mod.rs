//! From a script to a draft: its functions are followed statement by statement, and what is known of their values is kept.
//! Nothing runs: what is not known is left out with a note.
//!
//! Not here: values (`expression.rs`), calls (`calls.rs`), requests (`request.rs`), checks (`checks.rs`), and the load
//! (`load.rs`).

mod calls;
mod checks;
mod expression;
mod load;
mod methods;
mod request;
mod statements;
mod value;

use std::collections::{BTreeSet, HashMap};

use plan::diagnostic::Diagnostic;

use super::constant::Constant;
use super::scenario::{Scenario, scenarios};
use super::script::Script;
use super::source;
use super::tree::{At, Expr, Function, Kind, Pattern, Stmt, StmtKind};
use crate::draft::{Draft, DraftJourney, DraftStep, MOST_STEPS, Rows};
use crate::format::{Options, Unreadable};
use crate::masks::Masks;
use value::Value;

/// Expressions that are looked at; a script that needs more is left where it is.
const MOST_LOOKED_AT: usize = 200_000;
/// Calls within calls that are followed.
const DEEPEST_CALL: usize = 16;

/// Reads a script.
///
/// Errors: it cannot be parsed
pub(super) fn read(name: &str, text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let tree = source::tree(name, text).map_err(|problems| {
        let first = problems.first().map(Diagnostic::to_string).unwrap_or_default();
        let at = problems.first().map_or(0, |problem| problem.span.start);
        let hint = format!("see all of it: proofload check {name}");
        Unreadable { line: Some(source::line(text, at)), what: first, hint: Some(hint) }
    })?;
    Ok(Converter::new(Script::new(text, &tree), wanted).draft())
}

/// Where a function stands.
#[derive(Debug, Clone)]
enum Flow<'t> {
    /// It goes on.
    On,
    /// It ended with a value.
    Returned(Value<'t>),
}

struct Converter<'t, 'o> {
    script: Script<'t>,
    wanted: &'o Options,
    draft: Draft,
    masks: Masks,
    /// Variables, those of the innermost block last.
    frames: Vec<HashMap<String, Value<'t>>>,
    /// The steps of the journey so far.
    steps: Vec<DraftStep>,
    /// Calls that became operations: where they stand, and the places.
    places: Vec<(usize, usize)>,
    /// Operations by the groups that they are in, for thresholds.
    groups: Vec<(String, usize)>,
    /// The groups that are open.
    open_groups: Vec<String>,
    /// Files of data.
    data: Vec<Rows>,
    /// The file whose rows the journey uses.
    rows: Option<usize>,
    /// The part of the journeys that performs what comes.
    share: Option<f64>,
    /// Whether `setup` is followed, whose requests are not taken over.
    is_setup: bool,
    /// What was noted where, so that a loop notes it once.
    noted: BTreeSet<(usize, String)>,
    looked_at: usize,
    calls: usize,
    is_full_noted: bool,
}

impl<'t, 'o> Converter<'t, 'o> {
    fn new(script: Script<'t>, wanted: &'o Options) -> Self {
        Self {
            script,
            wanted,
            draft: Draft::default(),
            masks: Masks::default(),
            frames: vec![HashMap::new()],
            steps: Vec::new(),
            places: Vec::new(),
            groups: Vec::new(),
            open_groups: Vec::new(),
            data: Vec::new(),
            rows: None,
            share: None,
            is_setup: false,
            noted: BTreeSet::new(),
            looked_at: 0,
            calls: 0,
            is_full_noted: false,
        }
    }

    fn draft(mut self) -> Draft {
        let tree = self.script.tree;
        let top =
            tree.iter().filter(|one| matches!(one.kind, StmtKind::Let(_) | StmtKind::Function(..)));
        for statement in top {
            self.statement(statement);
        }
        let data = self.setup();
        let options = self.script.options.clone();
        let listed = options.as_ref().map(scenarios).unwrap_or_default();
        let mut performed: Vec<&str> = Vec::new();
        for scenario in &listed {
            if !performed.contains(&scenario.exec.as_str()) {
                performed.push(&scenario.exec);
            }
        }
        if performed.is_empty() {
            performed.push("default");
        }
        for name in performed {
            let Some(function) = self.script.performed(name) else { continue };
            let scenario = listed.iter().find(|one| one.exec == name);
            self.journey(function, data.clone(), scenario, listed.len());
        }
        self.others();
        if let Some(options) = &options {
            load::read(&mut self, options, &listed);
        }
        self.draft.notes.sort_by_key(|note| note.line);
        self.draft
    }

    /// What `setup` gives to each iteration.
    fn setup(&mut self) -> Value<'t> {
        let Some(function) = self.script.performed("setup") else { return Value::Nothing };
        self.is_setup = true;
        let value = self.call(function, Vec::new());
        self.is_setup = false;
        value
    }

    /// Follows a function that users perform.
    fn journey(
        &mut self,
        function: &'t Function,
        data: Value<'t>,
        scenario: Option<&Scenario<'_>>,
        scenarios: usize,
    ) {
        let name = match scenario.filter(|scenario| scenario.is_own) {
            Some(scenario) => scenario.name.clone(),
            None => "visit".to_owned(),
        };
        self.steps.clear();
        self.is_full_noted = false;
        self.rows = None;
        self.call(function, vec![data]);
        let steps = std::mem::take(&mut self.steps);
        let rows = self.rows.map(|at| self.data[at].clone());
        let weight = load::weight(scenario, scenarios);
        match steps.as_slice() {
            [] => {}
            [DraftStep::Do(places)] if places.len() == 1 && scenarios < 2 => {
                self.draft.operations[places[0]].rows = rows;
            }
            _ => {
                let others = DraftJourney::default();
                self.draft.add_journey(DraftJourney { name, steps, weight, rows, ..others });
            }
        }
    }

    /// Functions that k6 calls by itself, and metrics of the script.
    fn others(&mut self) {
        for (name, instead) in [
            ("teardown", "its requests are not performed"),
            ("handleSummary", "`proofload report` writes the record in any form"),
        ] {
            if let Some(function) = self.script.performed(name) {
                self.note(&function.at, format!("{name}() is left out: {instead}"));
            }
        }
        for metric in self.script.metrics() {
            let name = metric.name.unwrap_or_else(|| metric.variable.to_owned());
            self.note(&metric.at, format!("the metric {name} is left out"));
        }
    }

    /// Adds a step to the journey.
    fn step(&mut self, step: DraftStep, at: &At) {
        if !self.is_setup && !self.is_full(at) {
            self.steps.push(step);
        }
    }

    /// Whether the journey has as many steps as one may have.
    fn is_full(&mut self, at: &At) -> bool {
        let is_full = self.steps.len() >= MOST_STEPS;
        if is_full && !self.is_full_noted {
            self.is_full_noted = true;
            let what =
                format!("a journey has {MOST_STEPS} steps: what comes from here on is left out");
            self.note(at, what);
        }
        is_full
    }

    /// Notes once what is left out at a place.
    fn note(&mut self, at: &At, what: impl Into<String>) {
        let what = self.masks.unmask(&what.into());
        if self.noted.insert((at.start, what.clone())) {
            self.draft.note(source::line(self.script.text, at.start), what);
        }
    }

    /// What the script says at a place, on one line and without credentials.
    fn quoted(&mut self, at: &At) -> String {
        let text = self.script.text.get(at.clone()).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = self.draft.credentials.hidden(&line).as_str().replace("{{{{", "{{");
        match line.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// A text that stands for this placeholder.
    fn mask(&mut self, placeholder: &str) -> String {
        self.masks.mask("{{x}}", |_| Some(placeholder.to_owned()))
    }

    fn variable(&self, name: &str) -> Option<&Value<'t>> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    fn bind(&mut self, name: &str, value: Value<'t>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name.to_owned(), value);
        }
    }

    /// Sets a variable where it was declared.
    fn assign(&mut self, name: &str, value: Value<'t>) {
        let frame = self.frames.iter_mut().rev().find(|frame| frame.contains_key(name));
        match frame {
            Some(frame) => {
                frame.insert(name.to_owned(), value);
            }
            None => self.bind(name, value),
        }
    }
}
