//! Where a captured value stands in an answer.

use std::borrow::Cow;
use std::fmt;

use plan::diagnostic::{Diagnostic, Span};
use plan::journey::CaptureSource;
use serde_json::Value;

use crate::expect::answer_view::AnswerView;
use crate::expect::json::Path;
use crate::expect::pattern::Pattern;
use crate::expect::rule::shown;
use crate::http::answer::BODY_LIMIT;
use crate::http::compile::fields::check_name;

/// A place in an answer, compiled.
#[derive(Debug)]
pub enum Source {
    /// A JSON path into the body.
    Json(Path),
    /// A field of the head, or what an expression finds in it.
    Header(String, Option<Pattern>),
    /// The value of a cookie that the answer sets.
    Cookie(String),
    /// What an expression finds in the body.
    Matches(Pattern),
    /// The whole body.
    Body,
}

impl Source {
    /// Compiles it.
    ///
    /// Errors: what is wrong with its path, expression or name
    pub fn compile(planned: &CaptureSource, span: Span) -> Result<Self, Diagnostic> {
        let pattern = |text: &str| {
            Pattern::compile(text).map_err(|error| {
                let what = format!("regular expression {:?}: {error}", shown(text));
                Diagnostic::new(span, what, "expected a regular expression")
            })
        };
        match planned {
            CaptureSource::Json(text) => Path::compile(text).map(Self::Json).map_err(|error| {
                let what = format!("JSON path {:?}: {error}", shown(text));
                Diagnostic::new(span, what, "expected a path such as $.results[0].id")
            }),
            CaptureSource::Header { name, matches } => {
                check_name(name)
                    .map_err(|what| Diagnostic::new(span, what, "expected the name of a field"))?;
                let pattern = matches.as_deref().map(pattern).transpose()?;
                Ok(Self::Header(name.clone(), pattern))
            }
            CaptureSource::Cookie(name) => Ok(Self::Cookie(name.clone())),
            CaptureSource::Matches(text) => pattern(text).map(Self::Matches),
            CaptureSource::Body => Ok(Self::Body),
        }
    }

    /// Whether it is in the head.
    pub fn needs_head(&self) -> bool {
        matches!(self, Self::Header(..) | Self::Cookie(_))
    }

    /// Bytes of the longest body that it is looked for in.
    pub fn reads(&self) -> usize {
        match self {
            Self::Json(path) => path.reads(),
            Self::Matches(pattern) => pattern.reads(),
            _ => BODY_LIMIT,
        }
    }

    /// Whether the list that it goes through is in the answer, perhaps without elements.
    pub fn has_list(&self, answer: &AnswerView<'_>) -> bool {
        match self {
            Self::Json(path) => answer.json().is_ok_and(|body| path.has_list(body)),
            _ => false,
        }
    }

    /// Calls `take` with each value in order, until that returns false.
    ///
    /// Errors: why the body cannot be read
    pub fn read(
        &self,
        answer: &AnswerView<'_>,
        mut take: impl FnMut(Cow<'_, str>) -> bool,
    ) -> Result<(), String> {
        match self {
            Self::Json(path) => {
                let _ = path.values(answer.json()?).filter_map(text).all(take);
            }
            Self::Header(name, None) => {
                _ = answer.field(name).into_iter().map(Cow::Owned).all(take)
            }
            Self::Header(name, Some(pattern)) => {
                let values = answer.field(name);
                let _ = values
                    .iter()
                    .flat_map(|value| pattern.finds(value))
                    .all(|text| take(text.into()));
            }
            Self::Cookie(name) => {
                // Of two with one name the last counts, as in a browser.
                let fields = answer.field("set-cookie");
                let _ = fields
                    .iter()
                    .rev()
                    .filter_map(|field| cookie(field, name))
                    .all(|text| take(text.into()));
            }
            Self::Matches(pattern) => {
                let body = String::from_utf8_lossy(answer.body);
                let _ = pattern.finds(&body).all(|text| take(text.into()));
            }
            Self::Body => _ = take(String::from_utf8_lossy(answer.body)),
        }
        Ok(())
    }
}

/// As a message names it.
impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(path) => write!(formatter, "{}", path.text()),
            Self::Header(name, None) => write!(formatter, "header {name}"),
            Self::Header(name, Some(pattern)) => write!(formatter, "{pattern} in header {name}"),
            Self::Cookie(name) => write!(formatter, "cookie {name}"),
            Self::Matches(pattern) => write!(formatter, "{pattern} in the body"),
            Self::Body => write!(formatter, "the body"),
        }
    }
}

/// A text without quotes, anything else as JSON writes it; `null` is no value.
fn text(value: Cow<'_, Value>) -> Option<Cow<'_, str>> {
    Some(match value {
        Cow::Borrowed(Value::Null) => return None,
        Cow::Borrowed(Value::String(text)) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    })
}

/// The value that a `set-cookie` field gives the cookie with this name.
fn cookie<'a>(field: &'a str, name: &str) -> Option<&'a str> {
    let pair = field.split(';').next()?;
    let (known, value) = pair.split_once('=')?;
    (known.trim() == name).then(|| value.trim())
}
