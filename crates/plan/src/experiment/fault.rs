//! `[[fault]]`: what is done to the trial's own processes while the load runs.

use std::time::Duration;

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Reader, Table};
use crate::fault::{Action, Fault};
use crate::load::Load;
use crate::units::format_duration;

/// Reads the `[[fault]]` tables.
///
/// Shape:  `started`: names of the processes that the arm starts
pub(super) fn read(
    tables: &[&Table],
    started: &[String],
    load: &Load,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for table in tables {
        let mut reader = Reader::new(table);
        let process = process(&mut reader, table, started);
        let at = reader.duration("at");
        if table.get("at").is_none() {
            reader.missing("at", "at = \"20s\"");
        }
        let action = reader.parsed("action", "\"kill\", \"stop\" or \"freeze\"", action);
        if table.get("action").is_none() {
            reader.missing("action", "action = \"kill\"");
        }
        let undone_after = reader.duration("for");
        if let Some((Action::Freeze, span)) = action
            && table.get("for").is_none()
        {
            let problem = Diagnostic::new(span, "a process cannot stay frozen", "until when?");
            reader.problem(problem.with_hint("add for = \"5s\""));
        }
        if let Some((at, span)) = at {
            too_late(at, span, load).into_iter().for_each(|problem| reader.problem(problem));
        }
        problems.extend(reader.finish());
        if let (Some(process), Some((at, _)), Some((action, _))) = (process, at, action) {
            let undone_after = undone_after.map(|(after, _)| after);
            faults.push(Fault { process, at, action, undone_after });
        }
    }
    faults
}

fn process(reader: &mut Reader<'_>, table: &Table, started: &[String]) -> Option<String> {
    let Some((name, span)) = reader.string("process") else {
        if table.get("process").is_none() {
            reader.missing("process", "process = \"system\"");
        }
        return None;
    };
    if !started.iter().any(|known| known == name) {
        let known = started.iter().map(String::as_str);
        reader.problem(Diagnostic::unknown("process", name, span, known));
    }
    Some(name.to_owned())
}

fn action(text: &str) -> Option<Action> {
    match text {
        "kill" => Some(Action::Kill),
        "stop" => Some(Action::Stop),
        "freeze" => Some(Action::Freeze),
        _ => None,
    }
}

fn too_late(at: Duration, span: Span, load: &Load) -> Option<Diagnostic> {
    let measured = load.measure_time().filter(|measured| at >= *measured)?;
    let message = format!(
        "this is not before the end of the measure phase, {} long",
        format_duration(measured)
    );
    Some(Diagnostic::new(span, message, "counted from the start of the measure phase"))
}
