//! `[[fault]]`: faults injected into the trial's own processes while the load runs.

use std::time::Duration;

use super::placeholder::Started;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Reader, Table};
use crate::fault::{Fault, FaultAction, FaultTarget};
use crate::load::Load;
use crate::units::format_duration;

/// Reads the `[[fault]]` tables.
///
/// Shape:  `started`: the processes that the arm starts
pub(super) fn read(
    tables: &[&Table],
    started: &Started,
    load: &Load,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Fault> {
    let mut faults: Vec<(Fault, Span)> = Vec::new();
    for table in tables {
        let mut reader = Reader::new(table);
        let whom = whom(&mut reader, table, started);
        let at = reader.duration("at");
        if table.get("at").is_none() {
            reader.missing("at", "at = \"20s\"");
        }
        let action = reader.parsed("action", "\"kill\", \"stop\" or \"freeze\"", action);
        if table.get("action").is_none() {
            reader.missing("action", "action = \"kill\"");
        }
        let undone_after = reader.duration("for");
        if let Some((FaultAction::Freeze, span)) = action
            && table.get("for").is_none()
        {
            let problem = Diagnostic::new(span, "a process cannot stay frozen", "until when?");
            reader.problem(problem.with_hint("add for = \"5s\""));
        }
        if let (Some(whom), Some((action, _)), Some((_, span))) = (&whom, action, undone_after) {
            unstartable(whom, action, span).into_iter().for_each(|problem| reader.problem(problem));
        }
        if let Some((at, span)) = at {
            too_late(at, span, load).into_iter().for_each(|problem| reader.problem(problem));
        }
        problems.extend(reader.finish());
        if let (Some(whom), Some((at, span)), Some((action, _))) = (whom, at, action) {
            let undone_after = undone_after.map(|(after, _)| after);
            faults.push((Fault { whom, at, action, undone_after }, span));
        }
    }
    problems.extend(overlapping(&faults));
    faults.into_iter().map(|(fault, _)| fault).collect()
}

/// Refuses to restart a killed or stopped part: the run does not know how to start it.
fn unstartable(whom: &FaultTarget, action: FaultAction, span: Span) -> Option<Diagnostic> {
    if whom.part.is_none() || action == FaultAction::Freeze {
        return None;
    }
    let message = format!("the run cannot restart `{whom}`: {} started it", whom.process);
    let problem = Diagnostic::new(span, message, "`for` applies to a frozen part only");
    Some(
        problem
            .with_hint(format!("leave `for` out: {} may restart its part by itself", whom.process)),
    )
}

/// Reports faults on a process that an earlier fault still affects: the process may not be running, and undoing the
/// first fault would end the second or restart a running process.
fn overlapping(faults: &[(Fault, Span)]) -> Vec<Diagnostic> {
    let mut sorted: Vec<_> = faults.iter().collect();
    sorted.sort_by_key(|(fault, _)| fault.at);
    let told = |(place, (second, span)): (usize, &&(Fault, Span))| {
        let before = sorted[..place].iter().rev().map(|(first, _)| first);
        let first = before
            .filter(|first| first.whom.touches(&second.whom))
            .find(|first| !first.is_over(second.at))?;
        let message = format!("`{}` is not back from the fault before this one", first.whom);
        let problem = Diagnostic::new(*span, message, format!("already under way: {first}"));
        Some(problem.with_hint("write a later `at`, or a shorter `for` in the other"))
    };
    sorted.iter().enumerate().filter_map(told).collect()
}

/// Reports a part that its process does not have, if its parts are known; otherwise only the process knows them.
fn missing_part(
    whom: &FaultTarget,
    text: &str,
    span: Span,
    started: &Started,
) -> Option<Diagnostic> {
    let FaultTarget { process, part } = whom;
    let (part, known) = (part.as_deref()?, started.parts(process)?);
    let span = span.within(text, text.len() - part.len(), text.len());
    match known {
        _ if known.iter().any(|one| one == part) => None,
        [] => {
            let label = format!("hit `{process}` itself");
            Some(Diagnostic::new(span, format!("`{process}` has no parts of its own"), label))
        }
        _ => {
            let what = format!("part of `{process}`");
            Some(Diagnostic::unknown(&what, part, span, known.iter().map(String::as_str)))
        }
    }
}

fn whom(reader: &mut Reader<'_>, table: &Table, started: &Started) -> Option<FaultTarget> {
    let Some((text, span)) = reader.string("process") else {
        if table.get("process").is_none() {
            reader.missing("process", "process = \"system\"");
        }
        return None;
    };
    let names = started.names();
    let whom = FaultTarget::named(text, names);
    if let Some(whom) = &whom {
        let missing = missing_part(whom, text, span, started);
        missing.into_iter().for_each(|problem| reader.problem(problem));
    } else {
        let process = text.split_once('.').map_or(text, |(process, _)| process);
        let known = names.iter().map(String::as_str);
        reader.problem(match names.iter().any(|known| known == process) {
            true => Diagnostic::new(
                span,
                format!("`{text}` names no part"),
                "expected a name behind the dot",
            ),
            false => Diagnostic::unknown("process", process, span, known),
        });
    }
    whom
}

fn action(text: &str) -> Option<FaultAction> {
    match text {
        "kill" => Some(FaultAction::Kill),
        "stop" => Some(FaultAction::Stop),
        "freeze" => Some(FaultAction::Freeze),
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
