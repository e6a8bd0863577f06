//! Checks expectations of observers against the file. The rest is known only once the observer has counted, or if it
//! lists its counts in advance.

use crate::criterion::{Operator, TOTAL, meant};
use crate::diagnostic::{Diagnostic, Span, near_miss};
use crate::expectation::{
    self, COUNTS, ExpectationError, ExpectationTerm, Inequality, LocatedError, OPERATORS, SentCount,
};
use crate::operation::Operation;

/// Everything that makes the expectation impossible.
pub(super) fn problems(text: &str, span: Span, operations: &[Operation]) -> Vec<Diagnostic> {
    let (comparisons, faults) = expectation::read(text);
    let faults = faults.into_iter().map(|fault| problem(text, span, fault));
    let terms = comparisons.iter().flat_map(Inequality::terms);
    let unknown = terms.filter_map(|term| {
        let at = span.within(text, term.start, term.start + term.text.len());
        unknown(term, at, operations)
    });
    faults.chain(unknown).collect()
}

/// Names of the observer's own counts, with their places.
pub(super) fn own<'a>(text: &'a str, span: Span, operations: &[Operation]) -> Vec<(&'a str, Span)> {
    let (comparisons, _) = expectation::read(text);
    let terms = comparisons.iter().flat_map(Inequality::terms);
    let placed =
        terms.map(|term| (term, span.within(text, term.start, term.start + term.text.len())));
    let is_own = |(term, at): &(ExpectationTerm<'_>, Span)| {
        let is_of_operation = term.of_operation().is_some_and(|(name, _)| {
            // Without operations it is unclear whether this is the name of one.
            operations.is_empty() || name == TOTAL || operations.iter().any(|one| one.name == name)
        });
        let is_other = term.number().is_some() || term.count().is_some() || is_of_operation;
        !is_other && unknown(*term, *at, operations).is_none()
    };
    placed.filter(is_own).map(|(term, at)| (term.text, at)).collect()
}

/// Reports a count that the observer does not have; `counts` are its own counts.
pub(super) fn uncounted(name: &str, span: Span, counts: &[String]) -> Option<Diagnostic> {
    let of_all = COUNTS.map(|(name, _)| name);
    let known: Vec<&str> = counts.iter().map(String::as_str).chain(of_all).collect();
    let is_known = known.contains(&name);
    (!is_known).then(|| Diagnostic::unknown("count of the observer", name, span, known))
}

fn problem(text: &str, span: Span, (fault, at): LocatedError) -> Diagnostic {
    let hint = "such as recall >= 0.95, or received == all.succeeded and damaged == 0";
    let part = &text[at.clone()];
    // A caret cannot mark an empty range.
    let span = if at.is_empty() { span } else { span.within(text, at.start, at.end) };
    let signs = OPERATORS.map(Operator::symbol);
    let one_of = format!("one of {}", signs.join(", "));
    let (message, label) = match fault {
        ExpectationError::NoOperator => {
            (format!("expected a comparison, got \"{part}\""), format!("no operator: {one_of}"))
        }
        ExpectationError::Operator => {
            let label = match meant(part).filter(|meant| signs.contains(meant)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if matches!(part, "<" | ">") => format!("did you mean `{part}=`?"),
                None => one_of,
            };
            (format!("an expectation cannot use `{part}`"), label)
        }
        ExpectationError::SecondOperator => (
            format!("a comparison has one operator; `{part}` is a second one"),
            "join two comparisons with `and`".to_owned(),
        ),
        ExpectationError::NoTerm => (
            format!("expected a count of the observer or a number, got \"{part}\""),
            "a term is missing here".to_owned(),
        ),
        ExpectationError::Words => {
            let message = format!("expected a count of the observer or a number, got \"{part}\"");
            let label = "counts by name, OPERATION.ITEM and numbers, with `+` between them";
            let hint = "write conditions on times of operations in `criteria`";
            return Diagnostic::new(span, message, label).with_hint(hint);
        }
    };
    Diagnostic::new(span, message, label).with_hint(hint)
}

/// Reports a count that an operation does not have.
fn unknown(term: ExpectationTerm<'_>, span: Span, operations: &[Operation]) -> Option<Diagnostic> {
    let (name, what) = term.of_operation().filter(|_| !operations.is_empty())?;
    let names: Vec<&str> = operations.iter().map(|one| one.name.as_str()).chain([TOTAL]).collect();
    if !names.contains(&name) {
        // Names of the observer's counts may also contain a dot.
        near_miss(name, &names)?;
        return Some(Diagnostic::unknown("operation", name, span, names));
    }
    let of_it = operations.iter().filter(|one| one.name == name);
    let items = of_it.flat_map(|one| &one.items).map(|item| item.name.as_str());
    let known: Vec<&str> = items.chain(SentCount::ALL.map(|(name, _)| name)).collect();
    let is_known = known.contains(&what);
    (!is_known).then(|| Diagnostic::unknown("item or count", what, span, known))
}
