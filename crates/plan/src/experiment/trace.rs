//! `[trace]`: which part of the operations carries a trace id, and where a trace is shown.

use super::request::KnownNames;
use crate::diagnostic::Diagnostic;
use crate::document::{Reader, Table};
use crate::plan::Arm;
use crate::target::without_credentials;
use crate::trace::{self, Trace};
use crate::units;

/// Reads the table, if there is one.
pub(super) fn read(root: &Table, problems: &mut Vec<Diagnostic>) -> Option<Trace> {
    let mut top = Reader::new(root);
    let mut reader = Reader::new(top.table("trace")?);
    let share = share(&mut reader);
    let url = url(&mut reader);
    problems.extend(reader.finish());
    Some(Trace { share, url })
}

/// A file none of whose operations can carry a trace id.
pub(super) fn untraced(root: &Table, arms: &[Arm], known: &dyn KnownNames) -> Option<Diagnostic> {
    let entry = root.get("trace")?;
    let mut operations = arms.iter().flat_map(|arm| &arm.operations).peekable();
    operations.peek()?;
    if operations.any(|operation| operation.is_traced) {
        return None;
    }
    let able = known.protocols().iter().filter(|name| known.traits(name).carries_traces);
    let able: Vec<String> = able.map(|name| format!("`{name}`")).collect();
    let what = "no operation of this file can carry a trace id";
    let problem = Diagnostic::new(entry.key_span, what, "so this table has no effect");
    Some(problem.with_hint(match able.is_empty() {
        true => "remove it".to_owned(),
        false => format!("remove it; operations of {} carry one", able.join(" and ")),
    }))
}

fn share(reader: &mut Reader<'_>) -> f64 {
    let Some((share, span)) = reader.parsed("share", units::PERCENTAGE, units::parse_percentage)
    else {
        return 1.0;
    };
    if share <= 0.0 || share > 1.0 {
        let message = format!("a share of {}% is out of range", share * 100.0);
        reader.problem(Diagnostic::new(span, message, "expected more than 0% and at most 100%"));
    }
    share
}

fn url(reader: &mut Reader<'_>) -> Option<String> {
    let (url, span) = reader.string("url")?;
    if let Some(problem) = trace::problem(url) {
        let message = format!("`url` {problem} (got {:?})", without_credentials(url));
        let expected = "expected an address such as https://traces.example/trace/{trace_id}";
        reader.problem(Diagnostic::new(span, message, expected));
    }
    Some(url.to_owned())
}
