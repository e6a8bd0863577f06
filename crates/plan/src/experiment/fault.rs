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
    let mut faults: Vec<(Fault, Span)> = Vec::new();
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
        if let (Some(process), Some((at, span)), Some((action, _))) = (process, at, action) {
            let undone_after = undone_after.map(|(after, _)| after);
            faults.push((Fault { process, at, action, undone_after }, span));
        }
    }
    problems.extend(overlapping(&faults));
    faults.into_iter().map(|(fault, _)| fault).collect()
}

/// Faults of a process that another one has not given back yet: there is nothing to be hit, and
/// what undoes the first would end the second, or start again what runs.
fn overlapping(faults: &[(Fault, Span)]) -> Vec<Diagnostic> {
    let mut sorted: Vec<_> = faults.iter().collect();
    sorted.sort_by_key(|(fault, _)| (&fault.process, fault.at));
    let same = |pair: &&[&(Fault, Span)]| pair[0].0.process == pair[1].0.process;
    let told = |pair: &[&(Fault, Span)]| {
        let [(first, _), (second, span)] = pair else { return None };
        let back = first.undone_after.map(|after| first.at.saturating_add(after));
        if back.is_some_and(|back| back <= second.at) {
            return None;
        }
        let message = format!("`{}` is not back from the fault before this one", first.process);
        let problem = Diagnostic::new(*span, message, format!("already under way: {first}"));
        Some(problem.with_hint("write a later `at`, or a shorter `for` in the other"))
    };
    sorted.windows(2).filter(same).filter_map(told).collect()
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
