//! The `[[operation]]` tables: the mix of an arm.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::factor::{Combination, Factor};
use super::request::ExperimentContext;
use super::rows::order;
use super::{capture, target};
use crate::criterion::{TIMES, TOTAL};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Node, Reader, Table, Value};
use crate::operation::{self, CONNECTING, Item, Operation, TargetOf};
use crate::protocol::ProtocolTraits;
use crate::request_list::{self, ListFormat};
use crate::rows::Rows;
use crate::target::{Target, split_url};
use crate::template::{Scope, Template};

/// The context for reading the operations of an arm.
pub(super) struct Reading<'a> {
    pub(super) world: ExperimentContext<'a>,
    /// Whether the file has `[trace]`.
    pub(super) traced: bool,
    pub(super) factors: &'a [Factor],
    pub(super) combination: &'a Combination<'a>,
    /// `[target]`, if the file has one.
    pub(super) shared: Option<&'a Target>,
    /// Whether a system is started; it is then the default target.
    pub(super) system: bool,
    /// Data that was already read, by file.
    pub(super) rows: &'a mut HashMap<String, Arc<Rows>>,
    pub(super) problems: &'a mut Vec<Diagnostic>,
    pub(super) targets: Vec<Target>,
}

/// An operation that is read up to where it depends on the journeys.
pub(super) struct Draft<'t> {
    pub(super) operation: Operation,
    pub(super) table: &'t Table,
    /// Whether this arm has it.
    pub(super) included: bool,
    /// Whether its templates can be judged: what they may refer to could be read.
    pub(super) judged: bool,
    /// Whether something was found wrong with it.
    flawed: bool,
    target: Option<&'t Node>,
    targets: Option<&'t Table>,
}

impl Reading<'_> {
    /// The operations of the file. `places`: how many captures they have, afterwards.
    pub(super) fn drafts<'t>(
        &mut self,
        tables: &[&'t Table],
        places: &mut usize,
    ) -> Vec<Draft<'t>> {
        (1..).zip(tables).map(|(place, table)| self.draft(place, table, places)).collect()
    }

    fn draft<'t>(&mut self, place: usize, table: &'t Table, places: &mut usize) -> Draft<'t> {
        let before = self.problems.len();
        let mut reader = Reader::new(table);
        let name = name(&mut reader, place);
        let included = self.when(&mut reader);
        let weight = weight(&mut reader);
        let protocol = self.protocol(&mut reader, table);
        let (rows, order) = self.rows(&mut reader);
        let target = reader.node("target");
        let targets = reader.table("targets");
        let expect = reader.table("expect").cloned();
        let items = items(&mut reader);
        let captures = capture::read(&mut reader, &name, places);
        self.problems.extend(reader.finish());
        // If the rows are missing, `row.column` would cause further problems.
        let judged = rows.is_some() || table.get("rows").is_none();
        let mut operation =
            Operation { weight, rows, order, expect, items, captures, ..Operation::named(&name) };
        let is_readable = protocol.is_some();
        (operation.protocol, operation.table) = protocol.unwrap_or_default();
        let flawed = !is_readable || self.problems.len() > before;
        let judged = judged && is_readable;
        Draft { operation, table, included, judged, flawed, target, targets }
    }

    /// The operations of this arm.
    pub(super) fn operations(&mut self, drafts: Vec<Draft<'_>>) -> Vec<Operation> {
        let mut operations = Vec::with_capacity(drafts.len());
        for draft in drafts {
            operations.extend(self.operation(draft));
        }
        let known = self.world.known;
        let stamped = operations.iter().flat_map(|one| known.spans(&one.protocol, &one.table));
        let stamped: Vec<&str> = stamped.copied().collect();
        let own = |name: &str| {
            let times = TIMES.iter().map(|(time, _)| time);
            CONNECTING.iter().chain(times).any(|one| *one == name) || stamped.contains(&name)
        };
        let problems = operation::place_parts(&mut operations, own);
        self.problems.extend(problems);
        operations
    }

    /// One operation; `None` where it is not in this arm, or cannot be read.
    fn operation(&mut self, draft: Draft<'_>) -> Option<Operation> {
        let Draft { mut operation, table, included, judged, flawed, target, targets } = draft;
        if operation.protocol.is_empty() {
            return None;
        }
        let before = self.problems.len();
        let mut inner = std::mem::take(&mut operation.table);
        let traits = self.world.known.traits(&operation.protocol);
        self.files(traits.files, &mut inner);
        if judged {
            self.templates(&inner, operation.scope());
        }
        operation.multiplexes = traits.multiplexes;
        operation.is_traced = self.traced && traits.carries_traces;
        operation.parts = self.world.known.parts(&operation.protocol, &inner);
        operation.table = inner;
        self.problems.extend(add_events(&mut operation));
        match targets {
            Some(listed) => self.listed(&mut operation, listed),
            None => self.fixed(&mut operation, target, table),
        }
        if judged && !self.targets.is_empty() {
            // What was found twice is reported once: the driver compiles the same texts.
            self.problems.extend(self.world.known.check(&operation, &self.targets));
        }
        // Only messages need them.
        operation.hidden = Vec::new();
        (included && !flawed && self.problems.len() == before).then_some(operation)
    }

    /// Whether the arm's levels are those that `when` names.
    pub(super) fn when(&mut self, reader: &mut Reader<'_>) -> bool {
        let entries =
            reader.table("when").map(|table| table.entries.as_slice()).unwrap_or_default();
        let mut included = true;
        for entry in entries {
            let names = self.factors.iter().map(|factor| factor.name.as_str());
            let factor = self.factors.iter().find(|factor| factor.name == entry.key);
            let Some(factor) = factor else {
                let problem = Diagnostic::unknown("factor", &entry.key, entry.key_span, names);
                self.problems.push(problem);
                continue;
            };
            let wanted: Vec<&Node> = match &entry.node.value {
                Value::Array(nodes) => nodes.iter().collect(),
                _ => vec![&entry.node],
            };
            let level = self.combination.level(&factor.name);
            let mut found = false;
            for node in wanted {
                if !factor.levels.iter().any(|level| level.is(&node.value)) {
                    let levels = factor.levels.iter().map(|level| level.name.as_str());
                    let what = format!("level of `{}`", factor.name);
                    let text = node.as_str().map_or_else(|| node.shown(), str::to_owned);
                    self.problems.push(Diagnostic::unknown(&what, &text, node.span, levels));
                }
                found |= level.is_some_and(|level| level.is(&node.value));
            }
            included &= found;
        }
        included
    }

    /// The protocol and its table. With `targets` the table may be left out.
    fn protocol(&mut self, reader: &mut Reader<'_>, table: &Table) -> Option<(String, Table)> {
        let known = self.world.known.protocols();
        let found: Vec<(&str, Cow<'_, Table>)> =
            known.iter().filter_map(|name| Some((*name, self.own_table(reader, name)?))).collect();
        let present = known.iter().filter(|name| table.get(name).is_some()).count();
        match (found.as_slice(), present) {
            ([(name, inner)], 1) => Some(((*name).to_owned(), inner.clone().into_owned())),
            ([], 0) if table.get("targets").is_some() => {
                known.first().map(|name| ((*name).to_owned(), Table::default()))
            }
            ([], 0) => {
                let problem =
                    Diagnostic::new(table.span, "the operation names no protocol", "in this table");
                let known = known.join(", ");
                let hint = format!("add http = {{ path = \"/\" }}; protocols: {known}");
                reader.problem(problem.with_hint(hint));
                None
            }
            ([_, (second, _), ..], _) => {
                let span = table.get(second).map_or(table.span, |entry| entry.key_span);
                let message = "an operation speaks one protocol";
                reader.problem(Diagnostic::new(span, message, "the second one"));
                None
            }
            _ => None,
        }
    }

    /// A protocol's table, or the list in its place.
    fn own_table<'t>(&self, reader: &mut Reader<'t>, name: &str) -> Option<Cow<'t, Table>> {
        let key = self.world.known.traits(name).short_form;
        match (reader.node(name)?, key) {
            (node @ Node { span, value: Value::Array(_) }, Some(key)) => {
                let entry = Entry { key: key.to_owned(), key_span: *span, node: node.clone() };
                Some(Cow::Owned(Table { span: *span, entries: vec![entry] }))
            }
            _ => reader.table(name).map(Cow::Borrowed),
        }
    }

    /// Reports texts of the protocol's table that are no valid templates.
    fn templates(&mut self, table: &Table, scope: Scope<'_>) {
        let mut nodes: Vec<&Node> = table.entries.iter().map(|entry| &entry.node).collect();
        while let Some(node) = nodes.pop() {
            match &node.value {
                Value::String(text) => {
                    if let Err(problems) = Template::compile(text, node.span, scope) {
                        self.problems.extend(problems);
                    }
                }
                Value::Array(items) => nodes.extend(items),
                Value::Table(inner) => nodes.extend(inner.entries.iter().map(|entry| &entry.node)),
                _ => {}
            }
        }
    }

    /// One target for all operations: its own, the file's, or the system's.
    fn fixed(&mut self, operation: &mut Operation, own: Option<&Node>, table: &Table) {
        let world = self.world;
        let traits = world.known.traits(&operation.protocol);
        let entry = operation.table.get("url").filter(|_| traits.is_of_the_web());
        self.problems.extend(entry.and_then(|entry| without_host(&entry.node)));
        let url = entry.and_then(|entry| Some((split_url(entry.node.as_str()?)?.0, entry)));
        let target = match (own, url) {
            (Some(node), None) => target::own(node, self.shared, world, self.problems),
            (None, Some((origin, entry))) => {
                Some(target::at(origin, entry.node.span, self.shared, world, self.problems))
            }
            (Some(_), Some((_, entry))) => {
                let what = "`url` and `target` exclude each other";
                let problem = Diagnostic::new(entry.key_span, what, "names a host of its own");
                self.problems.push(problem.with_hint("write `path` in its place"));
                None
            }
            (None, None) => self.shared.cloned().filter(target::has_place),
        };
        let target = match target {
            None if own.is_none() && self.system => Some(target::of_system(traits.usual_scheme())),
            other => other,
        };
        if let Some(target) = target {
            let target = target::spoken_to(target, &traits);
            let span = operation.table.span;
            self.problems.extend(target::astray(&target, &operation.protocol, span, world));
            operation.target = TargetOf::Fixed(self.place(target));
        } else if own.is_none() {
            let message = format!("operation `{}` has no target", operation.name);
            let problem = Diagnostic::new(table.span, message, "needs a target");
            let example = format!("{}://127.0.0.1:8080", traits.usual_scheme());
            let hint = format!("add [target] with url = \"{example}\"");
            self.problems.push(problem.with_hint(hint));
        }
    }

    /// Whole requests from a target file.
    fn listed(&mut self, operation: &mut Operation, table: &Table) {
        let mut reader = Reader::new(table);
        let file = reader.string("file");
        let expected = "\"vegeta\", \"vegeta-json\" or \"urls\"";
        let format = reader.parsed("format", expected, ListFormat::parse).map(|(format, _)| format);
        operation.order = order(&mut reader);
        if table.get("file").is_none() {
            reader.missing("file", "file = \"targets.txt\"");
        }
        self.problems.extend(reader.finish());
        if let Some(entry) = operation.table.get("url") {
            let what = "`url` and `targets` exclude each other";
            let problem = Diagnostic::new(entry.key_span, what, "the file has the addresses");
            self.problems.push(problem);
        }
        let Some((file, span)) = file else { return };
        match request_list::read(file, format, self.world.inputs) {
            Ok(list) => {
                let traits = self.world.known.traits(&operation.protocol);
                if list.iter().any(|entry| entry.origin.is_none()) {
                    self.fixed(operation, None, table);
                }
                let own = operation.target.index(0);
                let place = |entry: &request_list::ListedRequest| {
                    let Some(origin) = entry.origin.clone() else { return own };
                    let elsewhere = target::elsewhere(origin, self.shared);
                    self.place(target::spoken_to(elsewhere, &traits))
                };
                let places: Vec<usize> = list.iter().map(place).collect();
                operation.target = TargetOf::ByRow(Arc::from(places));
                operation.requests = Some(list.into_iter().map(|entry| entry.request).collect());
            }
            Err(message) => self.problems.push(Diagnostic::new(span, message, "named here")),
        }
    }

    /// Targets that no operation names, as each protocol of the web reaches them that the operations speak.
    pub(super) fn add_targets<'t>(
        &mut self,
        also: impl Iterator<Item = &'t Target>,
        operations: &[Operation],
    ) {
        let spoken = operations.iter().map(|one| self.world.known.traits(&one.protocol));
        let spoken: Vec<_> = spoken.filter(ProtocolTraits::is_of_the_web).collect();
        for target in also {
            for traits in &spoken {
                self.place(target::spoken_to(target.clone(), traits));
            }
        }
    }

    /// Place of this target among those of the arm.
    fn place(&mut self, target: Target) -> usize {
        self.targets.iter().position(|known| *known == target).unwrap_or_else(|| {
            self.targets.push(target);
            self.targets.len() - 1
        })
    }
}

/// A `url` that is never a whole address.
fn without_host(node: &Node) -> Option<Diagnostic> {
    node.as_str().filter(|text| split_url(text).is_none() && !text.contains("{{"))?;
    let message = format!("`url` must be a whole address, got {}", node.shown());
    let problem = Diagnostic::new(node.span, message, "has no scheme and host");
    Some(problem.with_hint("write a path at the operation's target as `path`"))
}

fn name(reader: &mut Reader<'_>, place: usize) -> String {
    let Some((name, span)) = reader.string("name") else { return format!("operation-{place}") };
    if let Some(problem) = bad_name(name, span) {
        reader.problem(problem);
    }
    name.to_owned()
}

/// Characters of the longest name: file names contain it, together with an item's name and an extension.
const LONGEST_NAME: usize = 100;

/// The problem of a name, if it has one.
pub(super) fn bad_name(name: &str, span: Span) -> Option<Diagnostic> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(fine) {
        let message = format!("name \"{name}\" holds other than letters, digits, `-`, `_`, `.`");
        return Some(Diagnostic::new(span, message, "expected a name such as home-page"));
    }
    if name.len() > LONGEST_NAME {
        let message = format!("a name of {} characters is too long for a file name", name.len());
        let label = format!("expected at most {LONGEST_NAME} characters");
        return Some(Diagnostic::new(span, message, label));
    }
    (name == TOTAL).then(|| {
        let message = format!("the name `{TOTAL}` is reserved for all operations together");
        Diagnostic::new(span, message, "expected another name")
    })
}

/// Names that appear more than once, over all `[[operation]]` and `[[journey]]` tables.
pub(super) fn duplicates(
    operations: &[&Table],
    journeys: &[&Table],
    problems: &mut Vec<Diagnostic>,
) {
    let of_kind = |kind, tables: &[&Table]| {
        let names = tables.iter().filter_map(|table| table.get("name"));
        let texts =
            names.filter_map(|entry| Some((entry.node.as_str()?.to_owned(), entry.node.span)));
        texts.map(|(name, span)| (kind, name, span)).collect::<Vec<_>>()
    };
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (kind, name, span) in
        of_kind("operation", operations).into_iter().chain(of_kind("journey", journeys))
    {
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == name) {
            let message = if *other == kind {
                format!("{kind} name `{name}` appears twice")
            } else {
                format!("`{name}` is the name of an operation and of a journey")
            };
            problems.push(Diagnostic::new(span, message, "names must differ"));
        }
        seen.push((kind, name));
    }
}

pub(super) fn weight(reader: &mut Reader<'_>) -> f64 {
    let Some((weight, span)) = reader.number("weight") else { return 1.0 };
    if weight < 0.0 {
        let message = format!("weight {weight} is below 0");
        reader.problem(Diagnostic::new(span, message, "expected 0 or more"));
    }
    weight
}

fn items(reader: &mut Reader<'_>) -> Vec<Item> {
    let entries = reader.table("items").map(|table| table.entries.as_slice()).unwrap_or_default();
    let mut items = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(problem) = bad_name(&entry.key, entry.key_span) {
            reader.problem(problem);
        }
        match item(&entry.node) {
            Some((path, counts_events)) => items.push(Item {
                name: entry.key.clone(),
                path: path.to_owned(),
                counts_events,
                span: entry.node.span,
            }),
            None => reader.problem(entry.node.unlike("a path such as \"$.count\"")),
        }
    }
    items
}

/// A path, or `{ events = "path" }`.
fn item(node: &Node) -> Option<(&str, bool)> {
    match &node.value {
        Value::Table(table) if table.entries.len() == 1 => {
            Some((table.get("events")?.node.as_str()?, true))
        }
        _ => Some((node.as_str()?, false)),
    }
}

/// The number of events, as an item that every stream has.
fn add_events(operation: &mut Operation) -> Option<Diagnostic> {
    const NAME: &str = "events";
    let stream = operation.table.get("stream")?;
    if let Some(item) = operation.items.iter().find(|item| item.name == NAME) {
        let what = "`events` is the number of events of a stream";
        return Some(Diagnostic::new(item.span, what, "expected another name for this item"));
    }
    let (name, path, span) = (NAME.to_owned(), String::new(), stream.key_span);
    operation.items.push(Item { name, path, counts_events: true, span });
    None
}
