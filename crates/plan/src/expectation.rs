//! Expectations of observers, such as `received == all.succeeded + 3 and 0.95 <= recall`: comparisons joined by `and`,
//! with a sum on each side.

use std::ops::Range;

use crate::criterion::{self, Operator};

/// Operators between two sides.
pub(crate) const OPERATORS: [Operator; 3] = [Operator::Equal, Operator::AtMost, Operator::AtLeast];

/// One comparison; all comparisons of an expectation must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Inequality<'a> {
    /// Terms that are added; at least one.
    pub left: Vec<ExpectationTerm<'a>>,
    /// `==`, `<=` or `>=`.
    pub operator: Operator,
    /// Like the left side.
    pub right: Vec<ExpectationTerm<'a>>,
}

impl<'a> Inequality<'a> {
    /// The terms of both sides, from left to right.
    pub fn terms(&self) -> impl Iterator<Item = ExpectationTerm<'a>> {
        self.left.iter().chain(&self.right).copied()
    }
}

/// A number, a count of the observer, or a count of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectationTerm<'a> {
    /// The text as written, without surrounding spaces.
    pub text: &'a str,
    /// Byte offset in the expectation.
    pub(crate) start: usize,
}

/// Counts that every observer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObserverCount {
    /// Arrived.
    Received,
    /// Arrived more than once.
    Duplicates,
    /// Arrived unexpectedly.
    Unexpected,
    /// Expected and not arrived.
    Lost,
}

/// All of them, by name.
pub(crate) const COUNTS: [(&str, ObserverCount); 4] = [
    ("received", ObserverCount::Received),
    ("duplicates", ObserverCount::Duplicates),
    ("unexpected", ObserverCount::Unexpected),
    ("lost", ObserverCount::Lost),
];

/// Counts of every operation, besides its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentCount {
    /// Operations that were planned.
    Planned,
    /// Operations that succeeded.
    Succeeded,
}

impl SentCount {
    /// All of them, by name.
    pub(crate) const ALL: [(&'static str, Self); 2] =
        [("planned", Self::Planned), ("succeeded", Self::Succeeded)];

    /// The count with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
    }
}

impl<'a> ExpectationTerm<'a> {
    /// Its value, if it is a number.
    pub fn number(self) -> Option<f64> {
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The common observer count that it names; other names belong to the observer itself or to operations.
    pub fn count(self) -> Option<ObserverCount> {
        COUNTS.iter().find(|(name, _)| *name == self.text).map(|(_, count)| *count)
    }

    /// The operation and its count, unless this is a name of the observer with a dot in it.
    pub fn of_operation(self) -> Option<(&'a str, &'a str)> {
        if self.number().is_some() { None } else { self.text.rsplit_once('.') }
    }
}

/// Why an expectation cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectationError {
    /// A comparison without an operator.
    NoOperator,
    /// An unknown operator.
    Operator,
    /// A second operator in one comparison.
    SecondOperator,
    /// A missing term.
    NoTerm,
    /// Several words instead of one.
    Words,
}

/// An error with its byte range in the expectation.
pub type LocatedError = (ExpectationError, Range<usize>);

/// Parses an expectation.
///
/// Errors: everything that makes the expectation impossible, as far as the text alone shows
pub fn parse(text: &str) -> Result<Vec<Inequality<'_>>, Vec<LocatedError>> {
    let (comparisons, faults) = read(text);
    if faults.is_empty() { Ok(comparisons) } else { Err(faults) }
}

/// The parts that can be parsed, and the errors.
pub(crate) fn read(text: &str) -> (Vec<Inequality<'_>>, Vec<LocatedError>) {
    let mut reader = ExpectationParser { text, faults: Vec::new() };
    let mut comparisons = Vec::new();
    let mut start = 0;
    for comparison in text.split(" and ") {
        let end = start + comparison.len();
        comparisons.push(reader.comparison(start..end));
        start = end + " and ".len();
    }
    (comparisons, reader.faults)
}

struct ExpectationParser<'a> {
    text: &'a str,
    faults: Vec<LocatedError>,
}

impl<'a> ExpectationParser<'a> {
    /// Always returns an operator, so that the terms next to a wrong one are parsed, too.
    fn comparison(&mut self, at: Range<usize>) -> Inequality<'a> {
        let Some(sign) = self.operator(at.clone()) else {
            self.fault(ExpectationError::NoOperator, at.clone());
            let left = self.side(at);
            return Inequality { left, operator: Operator::Equal, right: Vec::new() };
        };
        let written = &self.text[sign.clone()];
        let operator = OPERATORS.into_iter().find(|known| known.symbol() == written);
        if operator.is_none() {
            self.fault(ExpectationError::Operator, sign.clone());
        }
        let left = self.side(at.start..sign.start);
        let right = match self.operator(sign.end..at.end) {
            Some(second) => {
                self.fault(ExpectationError::SecondOperator, second.clone());
                let middle = self.side(sign.end..second.start);
                middle.into_iter().chain(self.side(second.end..at.end)).collect()
            }
            None => self.side(sign.end..at.end),
        };
        Inequality { left, operator: operator.unwrap_or(Operator::Equal), right }
    }

    fn operator(&self, within: Range<usize>) -> Option<Range<usize>> {
        let (start, end) = criterion::operator(&self.text[within.clone()])?;
        Some(within.start + start..within.start + end)
    }

    fn side(&mut self, at: Range<usize>) -> Vec<ExpectationTerm<'a>> {
        let mut terms = Vec::new();
        let mut start = at.start;
        for raw in self.text[at.clone()].split('+') {
            let place = self.trimmed(start..start + raw.len());
            let term = ExpectationTerm { text: &self.text[place.clone()], start: place.start };
            if term.text.is_empty() {
                self.fault(ExpectationError::NoTerm, at.clone());
            } else if term.text.contains(char::is_whitespace) {
                self.fault(ExpectationError::Words, place);
            } else {
                terms.push(term);
            }
            start += raw.len() + 1;
        }
        terms
    }

    fn trimmed(&self, at: Range<usize>) -> Range<usize> {
        let raw = &self.text[at.clone()];
        let start = at.start + (raw.len() - raw.trim_start().len());
        start..start + raw.trim().len()
    }

    fn fault(&mut self, fault: ExpectationError, at: Range<usize>) {
        let at = self.trimmed(at);
        self.faults.push((fault, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_comparisons_of_sums() {
        let text = "received ==  all.succeeded+3 and 0.95<=recall";
        let read = parse(text).unwrap();
        let texts = |terms: &[ExpectationTerm<'_>]| -> Vec<String> {
            terms.iter().map(|term| text[term.start..][..term.text.len()].to_owned()).collect()
        };
        let seen: Vec<_> =
            read.iter().map(|one| (texts(&one.left), one.operator, texts(&one.right))).collect();
        let names =
            |names: &[&str]| -> Vec<String> { names.iter().map(|one| (*one).into()).collect() };
        assert_eq!(
            seen,
            [
                (names(&["received"]), Operator::Equal, names(&["all.succeeded", "3"])),
                (names(&["0.95"]), Operator::AtMost, names(&["recall"])),
            ]
        );
    }

    #[test]
    fn terms_are_told_apart() {
        let term = |text| ExpectationTerm { text, start: 0 };
        assert_eq!(term("received").count(), Some(ObserverCount::Received));
        assert_eq!(term("unreceived").count(), None);
        assert_eq!([term("1e-3").number(), term("inf").number()], [Some(0.001), None]);
        assert_eq!(term("a.b.planned").of_operation(), Some(("a.b", "planned")));
        assert_eq!([term("0.95").of_operation(), term("recall").of_operation()], [None, None]);
    }

    #[test]
    fn what_nobody_could_judge_is_placed() {
        let faults = |text| parse(text).unwrap_err();
        assert_eq!(faults("received =="), [(ExpectationError::NoTerm, 11..11)]);
        assert_eq!(faults("received + == 3"), [(ExpectationError::NoTerm, 0..10)]);
        assert_eq!(faults("0.9<=recall<=1"), [(ExpectationError::SecondOperator, 11..13)]);
        assert_eq!(faults("a == 1 and b"), [(ExpectationError::NoOperator, 11..12)]);
        assert_eq!(
            faults("a b > 1"),
            [(ExpectationError::Operator, 4..5), (ExpectationError::Words, 0..3)]
        );
    }
}
