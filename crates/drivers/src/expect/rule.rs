//! One thing that a complete answer must be.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use plan::template::Template;
use serde_json::Value;

use super::answer_view::AnswerView;
use super::json::{self, Path};
use super::pattern::Pattern;
use crate::http::answer::BODY_LIMIT;

/// Characters of a value shown in a message, at most.
const SHOWN_LIMIT: usize = 80;

/// A rule beside the status.
#[derive(Debug, Clone)]
pub enum AnswerRule {
    /// A field has this value.
    FieldIs(String, String),
    /// A field has a value with this in it.
    FieldContains(String, String),
    /// The body is so many bytes long, before decompression.
    Size(RangeInclusive<u64>),
    /// The body has this in it; the text is as written.
    Contains(String, Template),
    /// The body matches.
    Matches(Pattern),
    /// The JSON value at the path is this.
    Json(Path, Value),
    /// What stands at the path reads like this; the text is as written.
    JsonReads(Path, String, Template),
}

impl AnswerRule {
    /// Whether it looks at the head.
    pub fn needs_head(&self) -> bool {
        matches!(self, Self::FieldIs(..) | Self::FieldContains(..))
    }

    /// Whether it looks at the body.
    pub fn needs_body(&self) -> bool {
        matches!(self, Self::Contains(..) | Self::Matches(_) | Self::Json(..) | Self::JsonReads(..))
    }

    /// Bytes of the longest body that it is held against.
    pub fn reads(&self) -> usize {
        match self {
            Self::Matches(pattern) => pattern.reads(),
            Self::Json(path, _) | Self::JsonReads(path, ..) => path.reads(),
            _ => BODY_LIMIT,
        }
    }

    /// Holds the answer against the rule.
    ///
    /// Shape:  → what was seen, as `Err` if the rule is broken
    pub fn check(&self, evidence: &AnswerView<'_>) -> Result<String, String> {
        match self {
            Self::FieldIs(name, wanted) => {
                field(evidence, name, |value| value.trim() == wanted.as_str())
            }
            Self::FieldContains(name, wanted) => {
                field(evidence, name, |value| value.contains(wanted.as_str()))
            }
            Self::Size(range) => {
                verdict(range.contains(&evidence.size), format!("{} bytes", evidence.size))
            }
            Self::Contains(_, template) => contains(evidence, template),
            Self::Matches(pattern) => {
                let text = String::from_utf8_lossy(evidence.body);
                verdict(pattern.is_match(&text), shown(&text))
            }
            Self::Json(path, wanted) => {
                let value = evidence.json().and_then(|body| path.value(body))?;
                verdict(json::same(&value, wanted), shown(&value.to_string()))
            }
            Self::JsonReads(path, _, template) => {
                let value = evidence.json().and_then(|body| path.value(body))?;
                verdict(reads(&value, &rendered(evidence, template)), shown(&value.to_string()))
            }
        }
    }
}

impl fmt::Display for AnswerRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldIs(name, wanted) => write!(formatter, "header {name} is {wanted:?}"),
            Self::FieldContains(name, wanted) => {
                write!(formatter, "header {name} contains {wanted:?}")
            }
            Self::Size(range) if range.start() == range.end() => {
                write!(formatter, "body of {} bytes", range.start())
            }
            Self::Size(range) if *range.end() == u64::MAX => {
                write!(formatter, "body of at least {} bytes", range.start())
            }
            Self::Size(range) => {
                write!(formatter, "body of {} to {} bytes", range.start(), range.end())
            }
            Self::Contains(text, _) => write!(formatter, "body contains {text:?}"),
            Self::Matches(pattern) => write!(formatter, "body matches {pattern}"),
            Self::Json(path, wanted) => write!(formatter, "{} is {wanted}", path.text()),
            Self::JsonReads(path, text, _) => write!(formatter, "{} is {text:?}", path.text()),
        }
    }
}

fn verdict(holds: bool, seen: String) -> Result<String, String> {
    if holds { Ok(seen) } else { Err(seen) }
}

fn field(
    evidence: &AnswerView<'_>,
    name: &str,
    fits: impl Fn(&str) -> bool,
) -> Result<String, String> {
    let values = evidence.field(name);
    let holds = values.iter().any(|value| fits(value));
    let seen = if values.is_empty() { "absent".to_owned() } else { shown(&values.join(", ")) };
    verdict(holds, seen)
}

fn contains(evidence: &AnswerView<'_>, template: &Template) -> Result<String, String> {
    let body = String::from_utf8_lossy(evidence.body);
    verdict(body.contains(&rendered(evidence, template)), shown(&body))
}

fn rendered(evidence: &AnswerView<'_>, template: &Template) -> String {
    let mut text = Vec::new();
    template.render(evidence.context.call, evidence.context.rows, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether a value is this text, or is written so as JSON.
fn reads(value: &Value, text: &str) -> bool {
    let written: Cow<'_, str> = match value {
        Value::String(value) => value.into(),
        value => value.to_string().into(),
    };
    written == text
}

/// A value as a message shows it: its beginning.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LIMIT) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
