//! What is expected of an observer, read as far as the file alone can tell: the rest is known only once it has counted.

use crate::criterion::TOTAL;
use crate::diagnostic::{Diagnostic, Span, near_miss};
use crate::operation::Operation;

/// What may stand between two sides.
const SIGNS: [&str; 3] = ["==", "<=", ">="];
/// What can be asked of every operation, beside its items.
const COUNTS: [&str; 2] = ["planned", "succeeded"];

/// Everything that no answer of the observer could make right.
pub(super) fn problems(text: &str, span: Span, operations: &[Operation]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut start = 0;
    for comparison in text.split(" and ") {
        let at = Place { text, span, start, comparison };
        problems.extend(at.operator().into_iter().chain(at.terms(operations)));
        start += comparison.len() + " and ".len();
    }
    problems
}

/// One comparison, with where it begins in the whole text.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a str,
    span: Span,
    start: usize,
    comparison: &'a str,
}

impl Place<'_> {
    /// The stretch of the comparison between these bytes, trimmed, in the file.
    fn within(&self, start: usize, end: usize) -> Span {
        let raw = &self.comparison[start..end];
        let from = self.start + start + (raw.len() - raw.trim_start().len());
        self.span.within(self.text, from, from + raw.trim().len())
    }

    fn operator(&self) -> Option<Diagnostic> {
        let hint = "such as recall >= 0.95, or received == all.succeeded and damaged == 0";
        let Some((start, end)) = crate::criterion::operator(self.comparison) else {
            let message = format!("expected a comparison, got \"{}\"", self.comparison.trim());
            let span = self.within(0, self.comparison.len());
            let label = "no operator: one of ==, <=, >=";
            return Some(Diagnostic::new(span, message, label).with_hint(hint));
        };
        let sign = &self.comparison[start..end];
        if SIGNS.contains(&sign) {
            return None;
        }
        let meant = crate::criterion::meant(sign).filter(|meant| SIGNS.contains(meant));
        let label = match (meant, sign) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, "<" | ">") => format!("did you mean `{sign}=`?"),
            (None, _) => "one of ==, <=, >=".to_owned(),
        };
        let message = format!("an observer's counts are not compared with `{sign}`");
        Some(Diagnostic::new(self.within(start, end), message, label).with_hint(hint))
    }

    fn terms(&self, operations: &[Operation]) -> Vec<Diagnostic> {
        let (first, second) = crate::criterion::operator(self.comparison)
            .unwrap_or((self.comparison.len(), self.comparison.len()));
        let mut problems = Vec::new();
        for (from, to) in [(0, first), (second, self.comparison.len())] {
            let mut start = from;
            for term in self.comparison[from..to].split('+') {
                let span = self.within(start, start + term.len());
                problems.extend(self::term(term.trim(), span, operations));
                start += term.len() + 1;
            }
        }
        problems
    }
}

/// A number, a name of the observer's own, or what an operation has.
fn term(term: &str, span: Span, operations: &[Operation]) -> Option<Diagnostic> {
    if term.contains(char::is_whitespace) {
        let message = format!("expected a count of the observer or a number, got \"{term}\"");
        let label = "counts by name, OPERATION.ITEM and numbers, with `+` between them";
        let hint = "what operations took is asked for in `criteria`";
        return Some(Diagnostic::new(span, message, label).with_hint(hint));
    }
    let (name, what) = term.rsplit_once('.')?;
    if term.parse::<f64>().is_ok() || operations.is_empty() {
        return None;
    }
    let names: Vec<&str> = operations.iter().map(|one| one.name.as_str()).chain([TOTAL]).collect();
    if !names.contains(&name) {
        // Names that the observer tells may have a dot in them, too.
        near_miss(name, &names)?;
        return Some(Diagnostic::unknown("operation", name, span, names));
    }
    let of_it = operations.iter().filter(|one| one.name == name);
    let items = of_it.flat_map(|one| &one.items).map(|item| item.name.as_str());
    let known: Vec<&str> = items.chain(COUNTS).collect();
    let is_known = known.contains(&what);
    (!is_known).then(|| Diagnostic::unknown("item or count", what, span, known))
}
