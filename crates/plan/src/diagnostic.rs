//! Problems of an experiment file: all at once, each with line and caret.
//!
//! Not here: printing. The binary chooses the stream and the colour.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Renderer, Snippet};

pub use quantities::near_miss;

use crate::printable::shortened;

/// A range of the source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Its number of bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The range `start..end` of the text at this span. If the source does not contain the text
    /// literally (escapes, substituted factors), the whole span.
    pub fn within(self, text: &str, start: usize, end: usize) -> Self {
        if self.len() == text.len() {
            Self::new(self.start + start, self.start + end)
        } else {
            self
        }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// Most problems that are shown; with more, the file is probably something else.
const MOST_SHOWN: usize = 100;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, lower case, with the offending text.
    pub message: String,
    /// Where.
    pub span: Span,
    /// The text under the caret: what was expected there.
    pub label: String,
    /// One thing to do, if one is known.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem without a hint.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), span, label: label.into(), hint: None }
    }

    /// The same with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// `text` is none of `known`: suggests a similar name if there is one, and lists all names in a
    /// hint if there are few.
    pub fn unknown<'k>(
        what: &str,
        text: &str,
        span: Span,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        // Arms and tables may name the same thing several times.
        let mut known: Vec<&str> = known.into_iter().collect();
        let mut seen = HashSet::new();
        known.retain(|word| seen.insert(*word));
        let label = match near_miss(text, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("not a known {what}"),
        };
        let problem = Self::new(span, format!("unknown {what} `{}`", shortened(text)), label);
        match known.len() {
            1..=40 => problem.with_hint(format!("known here: {}", known.join(", "))),
            _ => problem,
        }
    }
}

/// The texts that spans refer to: the experiment file, then the text of each flag that adds to it.
/// Byte numbers continue from text to text, so that spans need no text number.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    origin: String,
    text: String,
    start: usize,
}

impl Sources {
    /// The experiment file alone.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        let mut sources = Self::default();
        sources.add(file, text);
        sources
    }

    /// Adds a text; spans within it are offset by the returned number.
    pub fn add(&mut self, origin: impl Into<String>, text: impl Into<String>) -> usize {
        // One byte is left between two texts, so that a span at the end of one text does not belong
        // to the next.
        let start = self.parts.last().map_or(0, |last| last.start + last.text.len() + 1);
        let text = without_user_info(text.into());
        self.parts.push(Part { origin: origin.into(), text, start });
        start
    }

    /// All problems in the order of their place, in readable form.
    ///
    /// Deterministic plain text when `colour` is [`Colour::Off`].
    pub fn render(&self, problems: &[Diagnostic], colour: Colour) -> String {
        self.render_as("error", Level::ERROR, problems, colour)
    }

    /// The same for warnings.
    pub fn warn(&self, warnings: &[Diagnostic], colour: Colour) -> String {
        self.render_as("warning", Level::WARNING, warnings, colour)
    }

    fn render_as(
        &self,
        word: &str,
        level: Level<'static>,
        problems: &[Diagnostic],
        colour: Colour,
    ) -> String {
        let renderer = match colour {
            Colour::On => Renderer::styled(),
            Colour::Off => Renderer::plain(),
        };
        let mut sorted: Vec<&Diagnostic> = problems.iter().collect();
        sorted.sort_by_key(|problem| problem.span.start);
        let shown = sorted.iter().take(MOST_SHOWN);
        let mut texts: Vec<String> =
            shown.map(|problem| self.render_one(problem, &level, &renderer)).collect();
        if sorted.len() > MOST_SHOWN {
            texts.push(format!("{word}: and {} problems more", sorted.len() - MOST_SHOWN));
        }
        texts.join("\n\n")
    }

    fn render_one(
        &self,
        problem: &Diagnostic,
        level: &Level<'static>,
        renderer: &Renderer,
    ) -> String {
        let (at, message) = (problem.span.start, beginning(&problem.message));
        let label = beginning(&problem.label);
        let part = self.parts.iter().rev().find(|part| part.start <= at);
        let mut elements: Vec<Element<'_>> = Vec::new();
        if let Some(part) = part {
            let range = part.range(problem.span);
            let annotation = AnnotationKind::Primary.span(range).label(Some(&*label));
            let snippet = Snippet::source(part.text.as_str())
                .path(part.origin.as_str())
                .annotation(annotation);
            elements.push(snippet.into());
        }
        if let Some(hint) = &problem.hint {
            elements.push(Level::HELP.with_name("hint").message(hint.as_str()).into());
        }
        let title = level.clone().primary_title(&*message);
        renderer.render(&[title.elements(elements)])
    }
}

/// The text with a star for each byte of user and password in its addresses: errors are kept in logs. Places stay.
fn without_user_info(mut text: String) -> String {
    const BEFORE: &str = "://";
    let ends = |letter: char| letter.is_whitespace() || "\"'`/?#,<>".contains(letter);
    let mut from = 0;
    while let Some(found) = text[from..].find(BEFORE) {
        from += found + BEFORE.len();
        let end = text[from..].find(ends).map_or(text.len(), |end| from + end);
        if let Some(length) = text[from..end].rfind('@') {
            text.replace_range(from..from + length, &"*".repeat(length));
        }
    }
    text
}

/// A message without most of a long text that it quotes.
fn beginning(message: &str) -> Cow<'_, str> {
    const MOST: usize = 1_000;
    match message.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &message[..end])),
        None => Cow::Borrowed(message),
    }
}

impl Part {
    /// The span as a range in this text, on character boundaries and within its length.
    fn range(&self, span: Span) -> Range<usize> {
        let floor = |at: usize| {
            let mut at = at.saturating_sub(self.start).min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }
}

/// Whether a rendering uses terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Escape sequences.
    On,
    /// Plain text.
    Off,
}

/// The problems of one file as text.
pub fn render(file: &str, source: &str, problems: &[Diagnostic], colour: Colour) -> String {
    Sources::new(file, source).render(problems, colour)
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_not_shown() {
        let source = "url = \"nats://me:s3cröt@host:1\" # or http://other/a@b\n";
        let problem = Diagnostic::new(Span::new(6, 30), "an address holds credentials", "here");
        let shown = render("f.toml", source, &[problem], Colour::Off);
        assert!(shown.contains("nats://**********@host:1\" # or http://other/a@b"), "{shown}");
        assert!(!shown.contains("s3cr"), "{shown}");
    }

    #[test]
    fn a_problem_shows_file_line_column_caret_and_hint() {
        let source = "[load]\nrate = \"500\"\n";
        let problem = Diagnostic::new(
            Span::new(15, 18),
            "expected a rate such as 500/s, got \"500\"",
            "no unit",
        )
        .with_hint("write 500/s");
        let expected = "error: expected a rate such as 500/s, got \"500\"
 --> home.toml:2:9
  |
2 | rate = \"500\"
  |         ^^^ no unit
  |
  = hint: write 500/s";
        assert_eq!(render("home.toml", source, &[problem], Colour::Off), expected);
    }

    #[test]
    fn a_span_of_a_flag_points_into_the_flag() {
        let mut sources = Sources::new("home.toml", "title = \"x\"");
        let base = sources.add("--criterion", "p99 < 20");
        let problem =
            Diagnostic::new(Span::new(base + 6, base + 8), "no unit", "a duration such as 20ms");
        let text = sources.render(&[problem], Colour::Off);
        assert!(text.contains("--> --criterion:1:7"), "{text}");
        assert!(text.contains("p99 < 20"), "{text}");
    }

    #[test]
    fn a_warning_is_told_apart_from_a_problem() {
        let warning = Diagnostic::new(Span::new(0, 5), "odd", "hardly meant so");
        let text = Sources::new("home.toml", "title = 1").warn(&[warning], Colour::Off);
        assert!(text.starts_with("warning: odd\n --> home.toml:1:1\n"), "{text}");
    }
}
