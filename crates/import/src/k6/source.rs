//! The text of a script: parsed, and never run.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use plan::diagnostic::{Diagnostic, Span};

use super::tree::Stmt;
use super::{depth, translate};

/// Longer scripts are refused.
const LONGEST: usize = 16 << 20;
/// Scripts that nest more deeply are refused.
const DEEPEST: usize = 4_000;
/// Bytes of stack for all that calls itself on the deepest script; only what is used of it is taken from the machine.
pub const STACK: usize = 512 << 20;

/// The statements of the script; the caller has [`STACK`].
///
/// Errors: its first problems, each with its place
pub(super) fn tree(name: &str, text: &str) -> Result<Vec<Stmt>, Vec<Diagnostic>> {
    let refused = |at: usize, what: &str, label: &str| {
        Err(vec![Diagnostic::new(Span::new(at, at), what, label)])
    };
    if text.len() > LONGEST {
        return refused(
            0,
            "the script has more than 16 MiB",
            "import the script that it was bundled from",
        );
    }
    if let Some(at) = depth::deeper(text, DEEPEST) {
        return refused(at, "the script nests too deeply", "take this part out");
    }
    parse(name, text)
}

fn parse(name: &str, text: &str) -> Result<Vec<Stmt>, Vec<Diagnostic>> {
    let is_typed = [".ts", ".mts", ".cts"].iter().any(|ending| name.ends_with(ending));
    let kind = if is_typed { SourceType::ts() } else { SourceType::mjs() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return Err(parsed.diagnostics.iter().map(problem).collect());
    }
    Ok(translate::statements(&parsed.program.body))
}

fn problem(one: &oxc_diagnostics::OxcDiagnostic) -> Diagnostic {
    let span = one.labels.first().map_or(Span::new(0, 0), |label| {
        let start = label.offset() as usize;
        Span::new(start, start + label.len() as usize)
    });
    let label = one.labels.first().and_then(|label| label.label()).unwrap_or("here");
    let what = one.message.trim_end_matches('.');
    let problem = Diagnostic::new(span, format!("the script cannot be parsed: {what}"), label);
    match &one.help {
        Some(help) => problem.with_hint(help.to_string()),
        None => problem,
    }
}

/// The line of a place, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
