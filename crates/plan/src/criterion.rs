//! Criteria: what the result is held against.
//!
//! ```text
//! criterion = [operation] metric operator bound
//! metric    = p50 p75 p90 p95 p99 p99.9 p99.99 mean max      bound: a duration
//!           | planned started missed succeeded failed abandoned   bound: a number, or a rate for started
//!           | goodput completed offered                      bound: a rate
//!           | name / name                                    bound: a percentage or a number
//! operator  = < <= > >= ==
//! ```
//!
//! Without an operation it speaks of all of them together.

use serde::Serialize;

use crate::diagnostic::{Diagnostic, Span};
use crate::operation::Operation;
use crate::units;

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// As written.
    pub text: String,
    /// Name of the operation it speaks of; `None` for all together.
    pub operation: Option<String>,
    /// What is looked at.
    pub metric: Metric,
    /// How it must stand to the bound.
    pub comparison: Operator,
    /// The bound: nanoseconds, per second, a ratio or a count, by the metric.
    pub bound: f64,
}

/// What a criterion looks at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A quantile of the outcome time, as a fraction; nanoseconds.
    Quantile(f64),
    /// Mean response time of succeeded operations; nanoseconds.
    Mean,
    /// Greatest outcome time; nanoseconds.
    Max,
    /// A number of operations.
    Count(Count),
    /// Operations per second of the measure phase.
    Rate(Rate),
    /// One number divided by another.
    Ratio(Term, Term),
}

/// A number of operations, by where they went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Due in the measure phase.
    Planned,
    /// Begun.
    Started,
    /// Never begun.
    Missed,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Unfinished at the drain deadline.
    Abandoned,
}

/// A rate of the measure phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Planned.
    Offered,
    /// Begun.
    Started,
    /// Finished, well or badly.
    Completed,
    /// Finished well.
    Goodput,
}

/// A side of a ratio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// A number of operations.
    Count(Count),
    /// The sum of an item over all succeeded operations.
    Item(String),
}

/// How the metric must stand to the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Operator {
    /// Below.
    #[serde(rename = "<")]
    Less,
    /// Not above.
    #[serde(rename = "<=")]
    AtMost,
    /// Above.
    #[serde(rename = ">")]
    More,
    /// Not below.
    #[serde(rename = ">=")]
    AtLeast,
    /// Equal.
    #[serde(rename = "==")]
    Equal,
}

impl Operator {
    /// Whether `value` stands so to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::More => value > bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
        }
    }

    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
        }
    }
}

/// What all operations together are called; no operation may have this name.
pub const TOTAL: &str = "all";

/// Two-character operators first, so that `<=` is not read as `<`.
const OPERATORS: [Operator; 5] =
    [Operator::AtMost, Operator::AtLeast, Operator::Equal, Operator::Less, Operator::More];

const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

const COUNTS: [(&str, Count); 6] = [
    ("planned", Count::Planned),
    ("started", Count::Started),
    ("missed", Count::Missed),
    ("succeeded", Count::Succeeded),
    ("failed", Count::Failed),
    ("abandoned", Count::Abandoned),
];

const RATES: [(&str, Rate); 4] = [
    ("offered", Rate::Offered),
    ("started", Rate::Started),
    ("completed", Rate::Completed),
    ("goodput", Rate::Goodput),
];

fn row<T: Clone>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
}

/// What criteria may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Each operation of any arm, with the names of its items.
    pub operations: Vec<(String, Vec<String>)>,
}

impl Names {
    /// The names of these operations.
    pub fn of<'o>(operations: impl IntoIterator<Item = &'o Operation>) -> Self {
        let mut names = Self::default();
        for operation in operations {
            if !names.operations.iter().any(|(name, _)| *name == operation.name) {
                let items = operation.items.iter().map(|item| item.name.clone()).collect();
                names.operations.push((operation.name.clone(), items));
            }
        }
        names
    }

    fn has_operation(&self, name: &str) -> bool {
        self.operations.iter().any(|(known, _)| known == name)
    }

    fn items(&self, operation: Option<&str>) -> Vec<&str> {
        self.operations
            .iter()
            .filter(|(name, _)| operation.is_none_or(|wanted| wanted == name))
            .flat_map(|(_, items)| items.iter().map(String::as_str))
            .collect()
    }
}

/// A word of the criterion with its place.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    span: Span,
}

impl Criterion {
    /// Reads a criterion that stands at `span`.
    ///
    /// Errors: the first thing that does not fit, with its place
    pub fn parse(text: &str, span: Span, names: &Names) -> Result<Self, Diagnostic> {
        let (left, comparison, right) = split(text).ok_or_else(|| {
            let message = format!("expected a criterion such as p99 < 20ms, got \"{text}\"");
            Diagnostic::new(span, message, "no operator: one of <, <=, >, >=, ==")
        })?;
        let bound = word_at(text, span, text.len() - right.len(), text.len());
        let mut words = words(text, span, left.len());
        let first = words.first().copied().ok_or_else(|| {
            let message = format!("expected a criterion such as p99 < 20ms, got \"{text}\"");
            Diagnostic::new(span, message, "no metric")
        })?;
        let operation = operation_of(&words, names)?;
        if operation.is_some() {
            words.remove(0);
        }
        let scope = operation.map(|word| word.text).filter(|name| *name != TOTAL);
        let (metric, bound) = match words.as_slice() {
            [metric] => single(*metric, bound)?,
            [a, slash, b] if slash.text == "/" => {
                let ratio = Metric::Ratio(term(*a, scope, names)?, term(*b, scope, names)?);
                (ratio, ratio_bound(bound)?)
            }
            _ => {
                let last = words.last().copied().unwrap_or(first);
                let message = format!("expected a metric, got \"{}\"", left.trim());
                return Err(Diagnostic::new(
                    Span::new(first.span.start, last.span.end),
                    message,
                    "such as p99, register p99, failed or delivered / targets",
                ));
            }
        };
        let operation = scope.map(str::to_owned);
        Ok(Self { text: text.to_owned(), operation, metric, comparison, bound })
    }

    /// Unit of bound and observation: `ns`, `/s`, `ratio` or `count`.
    pub fn unit(&self) -> &'static str {
        match self.metric {
            Metric::Quantile(_) | Metric::Mean | Metric::Max => "ns",
            Metric::Count(_) => "count",
            Metric::Rate(_) => "/s",
            Metric::Ratio(..) => "ratio",
        }
    }
}

/// Left side, operator, right side.
fn split(text: &str) -> Option<(&str, Operator, &str)> {
    let at = text.find(['<', '>', '='])?;
    let operator = OPERATORS.into_iter().find(|known| text[at..].starts_with(known.symbol()))?;
    Some((&text[..at], operator, &text[at + operator.symbol().len()..]))
}

/// The trimmed stretch of `text`.
fn word_at(text: &str, span: Span, start: usize, end: usize) -> Word<'_> {
    let raw = &text[start..end];
    let start = start + (raw.len() - raw.trim_start().len());
    let trimmed = raw.trim();
    Word { text: trimmed, span: span.within(text, start, start + trimmed.len()) }
}

/// Words before byte `end`; a slash is a word of its own.
fn words(text: &str, span: Span, end: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = 0;
    let boundaries = text[..end].char_indices().filter(|(_, c)| c.is_whitespace() || *c == '/');
    for (at, character) in boundaries.chain([(end, ' ')]) {
        if start < at {
            words.push(word_at(text, span, start, at));
        }
        if character == '/' {
            words.push(word_at(text, span, at, at + 1));
        }
        start = at + character.len_utf8();
    }
    words
}

/// The operation that the first word names, if the words have room for one.
fn operation_of<'a>(words: &[Word<'a>], names: &Names) -> Result<Option<Word<'a>>, Diagnostic> {
    let named = match words {
        [first, second, ..] if second.text != "/" => *first,
        _ => return Ok(None),
    };
    if named.text == TOTAL || names.has_operation(named.text) {
        return Ok(Some(named));
    }
    let known = names.operations.iter().map(|(name, _)| name.as_str());
    Err(Diagnostic::unknown("operation", named.text, named.span, known))
}

/// A metric of one word with its bound.
fn single(metric: Word<'_>, bound: Word<'_>) -> Result<(Metric, f64), Diagnostic> {
    let name = metric.text;
    let time = match name {
        "mean" => Some(Metric::Mean),
        "max" => Some(Metric::Max),
        _ => row(&QUANTILES, name).map(Metric::Quantile),
    };
    if let Some(metric) = time {
        let duration = units::parse_duration(bound.text)
            .ok_or_else(|| expected(units::DURATION, bound, "a bound needs its unit"))?;
        return Ok((metric, duration.as_nanos() as f64));
    }
    if let (Some(rate), Some(per_second)) = (row(&RATES, name), units::parse_rate(bound.text)) {
        return Ok((Metric::Rate(rate), per_second));
    }
    if let Some(count) = row(&COUNTS, name) {
        let number = bound.text.parse::<u64>();
        let number = number.map_err(|_| expected("a whole number", bound, "a count"))?;
        return Ok((Metric::Count(count), number as f64));
    }
    if row(&RATES, name).is_some() {
        return Err(expected(units::RATE, bound, "a bound needs its unit"));
    }
    let known = (QUANTILES.iter().map(|(name, _)| *name))
        .chain(["mean", "max"])
        .chain(COUNTS.iter().map(|(name, _)| *name))
        .chain(["offered", "completed", "goodput"]);
    Err(Diagnostic::unknown("metric", name, metric.span, known))
}

fn expected(what: &str, bound: Word<'_>, label: &str) -> Diagnostic {
    let message = format!("expected {what}, got \"{}\"", bound.text);
    Diagnostic::new(bound.span, message, label)
}

fn ratio_bound(bound: Word<'_>) -> Result<f64, Diagnostic> {
    let number = || bound.text.parse::<f64>().ok().filter(|number| number.is_finite());
    units::parse_percentage(bound.text)
        .or_else(number)
        .ok_or_else(|| expected("a percentage such as 100% or a number", bound, "a ratio"))
}

fn term(word: Word<'_>, operation: Option<&str>, names: &Names) -> Result<Term, Diagnostic> {
    if let Some(count) = row(&COUNTS, word.text) {
        return Ok(Term::Count(count));
    }
    let items = names.items(operation);
    if items.contains(&word.text) {
        return Ok(Term::Item(word.text.to_owned()));
    }
    let known = items.into_iter().chain(COUNTS.iter().map(|(name, _)| *name));
    Err(Diagnostic::unknown("item or count", word.text, word.span, known))
}

#[cfg(test)]
mod tests;
