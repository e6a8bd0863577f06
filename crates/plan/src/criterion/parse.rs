//! Parses the text of a criterion, or reports everything that is wrong with it.

use std::time::Duration;

use super::{
    COUNTS, CountedPart, Criterion, Metric, Names, OPERATORS, Operator, RATES, RatioSide, TIMES,
    TOTAL, Time,
};
use crate::diagnostic::{Diagnostic, Span, near_miss};
use crate::units;

/// Suggested for an unknown percentile.
const PERCENTILES: [&str; 7] = ["p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"];

/// A word of the criterion with its place.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    span: Span,
}

/// The part before `over`.
struct Claim {
    operation: Option<String>,
    time: Time,
    metric: Metric,
    bound: f64,
}

struct Parser<'a> {
    text: &'a str,
    span: Span,
    names: &'a Names,
    problems: Vec<Diagnostic>,
}

impl Criterion {
    /// Parses a criterion at `span`.
    ///
    /// Errors: every problem, with its place
    pub fn parse(text: &str, span: Span, names: &Names) -> Result<Self, Vec<Diagnostic>> {
        let mut parser = Parser { text, span, names, problems: Vec::new() };
        match parser.criterion() {
            Some(criterion) if parser.problems.is_empty() => Ok(criterion),
            _ => Err(parser.problems),
        }
    }
}

fn row<T: Clone>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
}

/// Characters of operators: of the known ones, and of those that people write instead.
const SIGNS: [char; 7] = ['<', '>', '=', '!', '≤', '≥', '≠'];

/// Start and end of the first sequence of such characters.
pub(crate) fn operator(text: &str) -> Option<(usize, usize)> {
    let start = text.find(SIGNS)?;
    let length = text[start..].find(|c| !SIGNS.contains(&c)).unwrap_or(text.len() - start);
    Some((start, start + length))
}

/// The operator that was probably meant by an unknown one.
pub(crate) fn meant(sign: &str) -> Option<&'static str> {
    match sign {
        "=<" | "≤" => Some("<="),
        "=>" | "≥" => Some(">="),
        "=" | "===" => Some("=="),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    fn criterion(&mut self) -> Option<Criterion> {
        let Some((at, behind)) = operator(self.text) else {
            return self.not_one("no operator: one of <, <=, >, >=, ==");
        };
        let (left, right) = (&self.text[..at], &self.text[behind..]);
        let comparison = self.comparison(at, behind)?;
        let start = self.text.len() - right.len();
        let end = start + right.find(" over ").unwrap_or(right.len());
        let bound = self.word_at(start, end);
        let words = self.words(0, left.len());
        let claim = match words.iter().position(|word| word.text == "/") {
            _ if words.is_empty() => return self.not_one("no metric"),
            Some(at) => self.ratio(&words[..at], &words[at + 1..], bound),
            None => self.single(&words, bound),
        };
        self.check_operator(comparison, claim.as_ref(), left.len());
        let windows = self.windows(end);
        let Claim { operation, time, metric, bound } = claim?;
        let text = self.text.to_owned();
        let over = windows.as_ref().map(|(length, _)| *length);
        let criterion = Criterion { text, operation, metric, time, comparison, bound, over };
        if let Some((length, word)) = windows {
            self.check_windows(&criterion, length, word);
        }
        Some(criterion)
    }

    /// The operator between these bytes.
    fn comparison(&mut self, start: usize, end: usize) -> Option<Operator> {
        let word = self.word_at(start, end);
        let found = OPERATORS.into_iter().find(|known| known.symbol() == word.text);
        found.or_else(|| {
            let label = match meant(word.text) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "one of <, <=, >, >=, ==".to_owned(),
            };
            let message = format!("unknown operator `{}`", word.text);
            self.refuse(Diagnostic::new(word.span, message, label))
        })
    }

    /// Refuses `==` for times: no measured time equals a written one exactly.
    fn check_operator(&mut self, comparison: Operator, claim: Option<&Claim>, at: usize) {
        let timed = matches!(
            claim,
            Some(Claim { metric: Metric::Quantile(_) | Metric::Mean | Metric::Max, .. })
        );
        if timed && comparison == Operator::Equal {
            let span = self.word_at(at, at + comparison.symbol().len()).span;
            let message = "a time is never exactly its bound";
            self.problems.push(Diagnostic::new(span, message, "expected <, <=, > or >="));
        }
    }

    fn not_one<T>(&mut self, label: &str) -> Option<T> {
        let message = format!("expected a criterion such as p99 < 20ms, got \"{}\"", self.text);
        self.problems.push(Diagnostic::new(self.span, message, label));
        None
    }

    fn refuse<T>(&mut self, problem: Diagnostic) -> Option<T> {
        self.problems.push(problem);
        None
    }

    /// This part of the text, trimmed.
    fn word_at(&self, start: usize, end: usize) -> Word<'a> {
        let raw = &self.text[start..end];
        let start = start + (raw.len() - raw.trim_start().len());
        let text = raw.trim();
        Word { text, span: self.span.within(self.text, start, start + text.len()) }
    }

    /// Words of this part; a slash is a word of its own.
    fn words(&self, mut start: usize, end: usize) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        let base = start;
        let stretch = self.text[base..end].char_indices();
        let boundaries = stretch.filter(|(_, c)| c.is_whitespace() || *c == '/');
        for (at, character) in boundaries.chain([(end - base, ' ')]) {
            let at = base + at;
            if start < at {
                words.push(self.word_at(start, at));
            }
            if character == '/' {
                words.push(self.word_at(at, at + 1));
            }
            start = at + character.len_utf8();
        }
        words
    }

    /// A metric that is not a ratio.
    fn single(&mut self, words: &[Word<'a>], bound: Word<'a>) -> Option<Claim> {
        let (metric, before) = words.split_last()?;
        let timed = is_percentile(metric.text) || matches!(metric.text, "mean" | "max");
        let (operation, time) = match *before {
            [] => (None, Some(Time::Response)),
            [word] if timed && !self.names.has_operation(word.text) => {
                (None, self.time(word, None))
            }
            [word] => (self.operation(word), Some(Time::Response)),
            [named, word] if timed => {
                let operation = self.operation(named);
                (operation, self.time(word, operation))
            }
            [first, ..] => {
                let span = Span::new(first.span.start, metric.span.end);
                let left = self.text.split(['<', '>', '=']).next().unwrap_or_default().trim();
                return self.refuse(Diagnostic::new(
                    span,
                    format!("expected a metric, got \"{left}\""),
                    "such as p99, register p99, connect p99, failed or delivered / targets",
                ));
            }
        };
        let (metric, bound) = self.metric(*metric, bound)?;
        let operation = operation.filter(|name| *name != TOTAL).map(str::to_owned);
        Some(Claim { operation, time: time?, metric, bound })
    }

    /// The operation that this word names.
    fn operation(&mut self, word: Word<'a>) -> Option<&'a str> {
        if self.names.has_operation(word.text) {
            return Some(word.text);
        }
        let known = self.names.operations.iter().map(|known| known.name.as_str());
        self.refuse(Diagnostic::unknown("operation", word.text, word.span, known))
    }

    /// The time that this word names. Without an operation before it, an operation may have been
    /// meant.
    fn time(&mut self, word: Word<'a>, operation: Option<&str>) -> Option<Time> {
        let spans = self.names.listed(operation.filter(|name| *name != TOTAL), |one| &one.spans);
        if let Some(time) = row(&TIMES, word.text) {
            return Some(time);
        }
        if spans.contains(&word.text) {
            return Some(Time::Span(word.text.to_owned()));
        }
        let times = TIMES.iter().map(|(name, _)| *name).chain(spans);
        let problem = if operation.is_some() {
            Diagnostic::unknown("span", word.text, word.span, times)
        } else {
            let operations = self.names.operations.iter().map(|known| known.name.as_str());
            Diagnostic::unknown("operation or span", word.text, word.span, operations.chain(times))
        };
        self.refuse(problem)
    }

    /// A metric of one word with its bound.
    fn metric(&mut self, metric: Word<'a>, bound: Word<'a>) -> Option<(Metric, f64)> {
        let name = metric.text;
        let time = match name {
            "mean" => Some(Metric::Mean),
            "max" => Some(Metric::Max),
            _ => percentile(name).map(Metric::Quantile),
        };
        if let Some(metric) = time {
            return Some((metric, self.duration(bound)?.as_nanos() as f64));
        }
        if is_percentile(name) {
            let label = "above p0 and below p100; the greatest value is called max";
            let message = format!("expected a percentile such as p99, got \"{name}\"");
            return self.refuse(Diagnostic::new(metric.span, message, label));
        }
        if let (Some(rate), Some(per_second)) = (row(&RATES, name), units::parse_rate(bound.text)) {
            return Some((Metric::Rate(rate), per_second));
        }
        if let Some(count) = row(&COUNTS, name).or_else(|| self.names.failure(name)) {
            return match bound.text.parse::<u64>() {
                Ok(number) => Some((Metric::Count(count), number as f64)),
                Err(_) => self.expected("a whole number", bound, "a count"),
            };
        }
        if row(&RATES, name).is_some() {
            return self.expected(units::RATE, bound, "a bound needs its unit");
        }
        let known = PERCENTILES.into_iter().chain(["mean", "max"]);
        let known = known.chain(COUNTS.iter().map(|(name, _)| *name));
        let known = known.chain(["offered", "completed", "goodput"]);
        let known = known.chain(self.names.failures.iter().copied());
        self.refuse(Diagnostic::unknown("metric", name, metric.span, known))
    }

    fn ratio(&mut self, left: &[Word<'a>], right: &[Word<'a>], bound: Word<'a>) -> Option<Claim> {
        let over = self.term(left, None);
        let scope = over.as_ref().and_then(|term| term.operation.clone());
        let under = self.term(right, scope.as_deref());
        let number = bound.text.parse::<f64>().ok().filter(|number| number.is_finite());
        let value = units::parse_percentage(bound.text)
            .or(number)
            .or_else(|| self.expected("a percentage such as 100% or a number", bound, "a ratio"));
        let (over, under) = (over?, under?);
        let operation = over.operation.clone().filter(|_| over.operation == under.operation);
        let metric = Metric::Ratio(over, under);
        Some(Claim { operation, time: Time::Response, metric, bound: value? })
    }

    /// A side of a ratio; its operation is `scope` if it names none.
    fn term(&mut self, words: &[Word<'a>], scope: Option<&str>) -> Option<RatioSide> {
        let (operation, word) = match *words {
            [word] => (scope, word),
            [named, word] => (self.operation(named), word),
            [] => return self.not_one("a side of the ratio is missing"),
            [first, .., last] => {
                let message = "expected a count or an item, or an operation and one of them";
                let span = Span::new(first.span.start, last.span.end);
                let label = "such as failed or register failed";
                return self.refuse(Diagnostic::new(span, message, label));
            }
        };
        let operation = operation.filter(|name| *name != TOTAL);
        let items = self.names.listed(operation, |one| &one.items);
        let part = if let Some(count) = row(&COUNTS, word.text) {
            CountedPart::Count(count)
        } else if items.contains(&word.text) {
            CountedPart::Item(word.text.to_owned())
        } else if let Some(count) = self.names.failure(word.text) {
            CountedPart::Count(count)
        } else {
            let known = items.into_iter().chain(COUNTS.iter().map(|(name, _)| *name));
            let known = known.chain(self.names.failures.iter().copied());
            let problem = Diagnostic::unknown("item or count", word.text, word.span, known);
            return self.refuse(problem);
        };
        Some(RatioSide { operation: operation.map(str::to_owned), part })
    }

    /// The length in `over LENGTH windows` after byte `from`, with its place.
    fn windows(&mut self, from: usize) -> Option<(Duration, Word<'a>)> {
        let words = self.words(from, self.text.len());
        match *words {
            [] => None,
            [_, length, windows] if windows.text == "windows" => {
                let known = self.duration(length)?;
                Some((known, length))
            }
            [first, ..] => {
                let last = words.last().map_or(first.span, |word| word.span);
                let message = "expected over and a length, such as over 10s windows";
                let span = Span::new(first.span.start, last.end);
                self.refuse(Diagnostic::new(span, message, "after the bound"))
            }
        }
    }

    /// Refuses windows that are not recorded.
    fn check_windows(&mut self, criterion: &Criterion, length: Duration, word: Word<'a>) {
        if let Some(missing) = criterion.not_kept_by_window() {
            let message = format!("{missing} are not kept window by window");
            let label = "ask it of the whole phase";
            self.problems.push(Diagnostic::new(word.span, message, label));
        }
        let shown = units::format_duration(length);
        for recording in &self.names.recordings {
            let window = units::format_duration(recording.window);
            let whole = length.as_nanos().is_multiple_of(recording.window.as_nanos().max(1));
            let problem = if !whole || length.is_zero() {
                Some((
                    format!("windows of {shown} cannot be joined from the recorded ones"),
                    format!("expected a multiple of {window}"),
                ))
            } else if recording.measure.is_some_and(|measure| measure < length) {
                Some((
                    format!("no window of {shown} fits into the measure phase"),
                    "expected a length within the load's duration".to_owned(),
                ))
            } else {
                None
            };
            if let Some((message, label)) = problem {
                self.problems.push(Diagnostic::new(word.span, message, label));
                return;
            }
        }
    }

    fn duration(&mut self, bound: Word<'a>) -> Option<Duration> {
        let number = bound.text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = bound.text[number.len()..].trim();
        let known: Vec<&str> = quantities::time_units().collect();
        let label = match near_miss(unit, &known).filter(|near| !number.is_empty() && *near != unit)
        {
            Some(near) => format!("did you mean `{number}{near}`?"),
            None => "a bound needs its unit".to_owned(),
        };
        units::parse_duration(bound.text).or_else(|| self.expected(units::DURATION, bound, &label))
    }

    fn expected<T>(&mut self, what: &str, bound: Word<'a>, label: &str) -> Option<T> {
        let message = format!("expected {what}, got \"{}\"", bound.text);
        self.refuse(Diagnostic::new(bound.span, message, label))
    }
}

/// `p` and a number.
fn is_percentile(name: &str) -> bool {
    let digits = name.strip_prefix('p').unwrap_or_default();
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `p97.5` as 0.975, the nearest double to it.
fn percentile(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p').filter(|_| is_percentile(name))?;
    let q: f64 = format!("{digits}e-2").parse().ok()?;
    (q > 0.0 && q < 1.0).then_some(q)
}
