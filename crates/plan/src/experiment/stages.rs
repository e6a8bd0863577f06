//! `stages` in `[load]`: rates or numbers of users that change.

use std::time::Duration;

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Reader, Table, Value};
use crate::load::{ArrivalProcess, Spacing, Stage};
use crate::ramp::{Ramp, UserStage};
use crate::units;

const EXAMPLE: &str = "a stage such as { to = \"500/s\", over = \"30s\" }";
const USERS_EXAMPLE: &str = "a stage such as { users = 50, over = \"1m\" }";

/// What changes from stage to stage.
pub(super) enum Stages {
    Rates(ArrivalProcess),
    Users(Ramp),
}

/// Whether `[load]` has stages of users.
pub(super) fn are_of_users(load: &Table) -> bool {
    load.get("stages").is_some_and(|entry| match &entry.node.value {
        Value::Array(stages) => stages.iter().any(|stage| has(stage, "users")),
        _ => false,
    })
}

fn has(stage: &Node, key: &str) -> bool {
    matches!(&stage.value, Value::Table(table) if table.get(key).is_some())
}

/// Reads them. `from`: the rate before the first of them.
pub(super) fn read(reader: &mut Reader<'_>, from: f64, spacing: Spacing) -> Option<Stages> {
    let span = reader.node("stages").map_or(Span::default(), |node| node.span);
    let listed = reader.array("stages")?;
    if !listed.iter().any(|stage| has(stage, "users")) {
        return Some(Stages::Rates(rates(reader, listed, span, (from, spacing))));
    }
    if let Some(rate) = listed.iter().find(|stage| has(stage, "to")) {
        let message = "stages of rates and stages of users exclude each other";
        let problem = Diagnostic::new(rate.span, message, "a rate, beside stages of users");
        reader.problem(problem.with_hint("write `users` in all stages, or `to` in all of them"));
        return None;
    }
    Some(Stages::Users(users(reader, listed, span)))
}

fn rates(
    reader: &mut Reader<'_>,
    listed: &[Node],
    span: Span,
    (from, spacing): (f64, Spacing),
) -> ArrivalProcess {
    let mut stages = Vec::with_capacity(listed.len());
    let mut rate = from;
    for table in tables(reader, listed, EXAMPLE) {
        if let Some(stage) = stage(reader, table, rate) {
            rate = stage.to;
            stages.push(stage);
        }
    }
    let complete = stages.len() == listed.len();
    let process = ArrivalProcess::Stages { from, stages, spacing };
    if complete && process.peak_rate() <= 0.0 {
        let message = "the stages never leave 0/s";
        reader.problem(Diagnostic::new(span, message, "expected a stage with `to`"));
    }
    process
}

fn users(reader: &mut Reader<'_>, listed: &[Node], span: Span) -> Ramp {
    let mut stages: Vec<UserStage> = Vec::with_capacity(listed.len());
    for table in tables(reader, listed, USERS_EXAMPLE) {
        let before = stages.last().map_or(0, |stage| stage.users);
        let Some(stage) = user_stage(reader, table, before) else { continue };
        let peak = stages.iter().map(|stage| stage.users).max().unwrap_or(0);
        if stage.users > before && before < peak {
            let message = format!("users rise again to {} after they fell", stage.users);
            let problem = Diagnostic::new(table.span, message, "a user starts only once");
            reader.problem(problem.with_hint("let users rise and hold first, and then fall"));
        }
        stages.push(stage);
    }
    let complete = stages.len() == listed.len();
    let ramp = Ramp { stages };
    if complete && ramp.peak() == 0 {
        let message = "the stages never leave 0 users";
        reader.problem(Diagnostic::new(span, message, "expected a stage with `users` above 0"));
    }
    ramp
}

/// The stages that are tables.
fn tables<'t>(reader: &mut Reader<'_>, listed: &'t [Node], example: &str) -> Vec<&'t Table> {
    let mut tables = Vec::with_capacity(listed.len());
    for node in listed {
        match &node.value {
            Value::Table(table) => tables.push(table),
            _ => reader.problem(node.unlike(example)),
        }
    }
    tables
}

/// `{ to, over }` or `{ hold }`.
fn stage(outer: &mut Reader<'_>, table: &Table, rate: f64) -> Option<Stage> {
    let mut reader = Reader::new(table);
    let hold = positive(&mut reader, "hold");
    let to = reader.parsed("to", units::RATE, units::parse_rate).map(|(rate, _)| rate);
    let over = reader.duration("over").map(|(over, _)| over);
    let stage = match keys(table, "to") {
        [true, false, false] => hold.map(|over| Stage { to: rate, over }),
        [false, true, true] => to.zip(over).map(|(to, over)| Stage { to, over }),
        _ => None,
    };
    finish(outer, reader, stage.is_none().then(|| unclear(table, "to", EXAMPLE)));
    stage
}

/// `{ users, over }` or `{ hold }`.
fn user_stage(outer: &mut Reader<'_>, table: &Table, before: u32) -> Option<UserStage> {
    let mut reader = Reader::new(table);
    let hold = positive(&mut reader, "hold");
    let users = reader.count("users", 0, 1_000_000).map(|count| count as u32);
    let over = reader.duration("over").map(|(over, _)| over);
    let stage = match keys(table, "users") {
        [true, false, false] => hold.map(|over| UserStage { users: before, over }),
        [false, true, true] => users.zip(over).map(|(users, over)| UserStage { users, over }),
        _ => None,
    };
    finish(outer, reader, stage.is_none().then(|| unclear(table, "users", USERS_EXAMPLE)));
    stage
}

/// Hands over what is wrong with an entry; what it should be only where nothing else is.
fn finish(outer: &mut Reader<'_>, reader: Reader<'_>, unclear: Option<Diagnostic>) {
    let mut problems = reader.finish();
    if problems.is_empty() {
        problems.extend(unclear);
    }
    problems.into_iter().for_each(|problem| outer.problem(problem));
}

fn keys(table: &Table, height: &str) -> [bool; 3] {
    ["hold", height, "over"].map(|key| table.get(key).is_some())
}

fn unclear(table: &Table, height: &str, example: &str) -> Diagnostic {
    let label = format!("either `{height}` with `over`, or `hold` alone");
    Diagnostic::new(table.span, format!("expected {example}"), label)
}

/// A duration above zero.
pub(super) fn positive(reader: &mut Reader<'_>, key: &str) -> Option<Duration> {
    let (length, span) = reader.duration(key)?;
    if length.is_zero() {
        reader.problem(Diagnostic::new(span, format!("`{key}` is zero"), "expected more than 0s"));
    }
    Some(length)
}
