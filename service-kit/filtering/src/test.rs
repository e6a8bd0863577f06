//! What one field is held against: an operator with its operand.

use std::cmp::Ordering;

use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

use crate::value::{Number, Scalar, is_same};

/// Longest regular expression, in bytes.
const LONGEST_REGEX: usize = 256;

/// Largest compiled regular expression, in bytes: its time is this size times the text's.
const LARGEST_REGEX: usize = 8 * 1024;

/// Longest text that a regular expression is held against, in bytes.
const LONGEST_TEXT: usize = 1_024;

/// Most values behind `in`.
pub const MOST_VALUES: usize = 1_000;

/// The operators, as written after a field's last dot or with a dollar before them.
pub const OPERATORS: &[(&str, Operator)] = &[
    ("eq", Operator::Equal),
    ("ne", Operator::Unlike),
    ("lt", Operator::Compare(Comparison::Less)),
    ("lte", Operator::Compare(Comparison::AtMost)),
    ("gt", Operator::Compare(Comparison::Greater)),
    ("gte", Operator::Compare(Comparison::AtLeast)),
    ("startswith", Operator::StartsWith),
    ("endswith", Operator::EndsWith),
    ("contains", Operator::Contains),
    ("regex", Operator::Regex),
    ("in", Operator::In),
    ("exists", Operator::Exists),
    ("type", Operator::Type),
];

/// How a field is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The same value.
    Equal,
    /// There, and another value.
    Unlike,
    /// Ordered against a number or a text.
    Compare(Comparison),
    /// A text that begins so.
    StartsWith,
    /// A text that ends so.
    EndsWith,
    /// A text with that within, or an array with that element.
    Contains,
    /// A text that a regular expression finds something in.
    Regex,
    /// One of several scalars.
    In,
    /// There, or not.
    Exists,
    /// Of that type.
    Type,
}

/// On which side of the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `lt`
    Less,
    /// `lte`
    AtMost,
    /// `gt`
    Greater,
    /// `gte`
    AtLeast,
}

/// The types that `type` distinguishes, by all their names.
pub const KINDS: &[(&str, Kind)] = &[
    ("string", Kind::Text),
    ("bool", Kind::Bool),
    ("boolean", Kind::Bool),
    ("int", Kind::Integer),
    ("integer", Kind::Integer),
    ("float", Kind::Number),
    ("number", Kind::Number),
    ("array", Kind::Array),
    ("object", Kind::Object),
    ("null", Kind::Null),
];

/// A type of JSON; a whole number is an integer and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// `true` or `false`
    Bool,
    /// A number without a fraction: 5, and 5.0.
    Integer,
    /// Any number.
    Number,
    /// An array.
    Array,
    /// An object.
    Object,
    /// `null`
    Null,
}

/// An operator with its operand, checked.
#[derive(Debug)]
pub enum Test {
    /// Against any value.
    Equal(Value),
    /// Against any value.
    Unlike(Value),
    /// Against a number or a text.
    Compare(Comparison, Value),
    /// A prefix.
    StartsWith(String),
    /// A suffix.
    EndsWith(String),
    /// A part of a text, or an element.
    Contains(Value),
    /// Compiled.
    Regex(Regex),
    /// Scalars in their order.
    In(Vec<Value>),
    /// Whether it must be there.
    Exists(bool),
    /// One type.
    Type(Kind),
}

impl Operator {
    /// Joins the operator with an operand.
    ///
    /// Errors: a sentence, with the index of the element if it is about one
    pub fn with(self, operand: &Value) -> Result<Test, (String, Option<usize>)> {
        match (self, operand) {
            (Self::In, Value::Array(values)) => members(values),
            _ => self.with_one(operand).map_err(|message| (message, None)),
        }
    }

    fn with_one(self, operand: &Value) -> Result<Test, String> {
        Ok(match (self, operand) {
            (Self::Equal, _) => Test::Equal(operand.clone()),
            (Self::Unlike, _) => Test::Unlike(operand.clone()),
            (Self::Contains, _) => Test::Contains(operand.clone()),
            (Self::Compare(side), Value::Number(_) | Value::String(_)) => {
                Test::Compare(side, operand.clone())
            }
            (Self::StartsWith, Value::String(text)) => Test::StartsWith(text.clone()),
            (Self::EndsWith, Value::String(text)) => Test::EndsWith(text.clone()),
            (Self::Regex, Value::String(text)) => Test::Regex(regex(text)?),
            (Self::Exists, Value::Bool(is_wanted)) => Test::Exists(*is_wanted),
            (Self::Type, Value::String(name)) => Test::Type(kind(name)?),
            _ => return Err(format!("`{}` takes {}", self.name(), self.takes())),
        })
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        let row = OPERATORS.iter().find(|(_, operator)| *operator == self);
        row.expect("each operator has its row").0
    }

    fn takes(self) -> &'static str {
        match self {
            Self::Equal | Self::Unlike | Self::Contains => "any value",
            Self::Compare(_) => "a number or a string",
            Self::StartsWith | Self::EndsWith => "a string",
            Self::Regex => "a string, a regular expression",
            Self::In => "an array of scalars",
            Self::Exists => "true or false",
            Self::Type => "a string, the name of a type",
        }
    }
}

fn members(values: &[Value]) -> Result<Test, (String, Option<usize>)> {
    if values.len() > MOST_VALUES {
        let message = format!("`in` takes at most {MOST_VALUES} values, this has {}", values.len());
        return Err((message, None));
    }
    if let Some(at) = values.iter().position(|value| Scalar::of(value).is_none()) {
        return Err(("`in` takes scalars, no arrays or objects".to_owned(), Some(at)));
    }
    let mut values = values.to_vec();
    values.sort_by(|one, other| Scalar::of(one).cmp(&Scalar::of(other)));
    values.dedup_by(|one, other| is_same(one, other));
    Ok(Test::In(values))
}

fn regex(text: &str) -> Result<Regex, String> {
    if text.len() > LONGEST_REGEX {
        return Err(format!("a regex has at most {LONGEST_REGEX} bytes, this has {}", text.len()));
    }
    let regex = RegexBuilder::new(text).size_limit(LARGEST_REGEX).build();
    regex.map_err(|error| format!("not a regex within the bounds: {error}"))
}

fn kind(name: &str) -> Result<Kind, String> {
    let known = KINDS.iter().find(|(word, _)| *word == name);
    known.map(|(_, kind)| *kind).ok_or_else(|| {
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        format!("`type` takes one of {}", words.join(", "))
    })
}

impl Test {
    /// Whether a field's value passes; `None` if the field is missing.
    pub fn holds(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else {
            return matches!(self, Self::Exists(false));
        };
        match self {
            Self::Equal(operand) => is_same(value, operand),
            Self::Unlike(operand) => !is_same(value, operand),
            Self::Compare(side, operand) => side.holds(value, operand),
            Self::StartsWith(start) => value.as_str().is_some_and(|text| text.starts_with(start)),
            Self::EndsWith(end) => value.as_str().is_some_and(|text| text.ends_with(end)),
            Self::Contains(part) => contains(value, part),
            Self::Regex(regex) => value
                .as_str()
                .is_some_and(|text| text.len() <= LONGEST_TEXT && regex.is_match(text)),
            Self::In(values) => Scalar::of(value).is_some_and(|scalar| {
                values.binary_search_by(|value| Scalar::of(value).cmp(&Some(scalar))).is_ok()
            }),
            Self::Exists(is_wanted) => *is_wanted,
            Self::Type(kind) => kind.holds(value),
        }
    }
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::String(text), Value::String(part)) => text.contains(part),
        (Value::Array(elements), part) => elements.iter().any(|element| is_same(element, part)),
        _ => false,
    }
}

impl Comparison {
    fn holds(self, value: &Value, operand: &Value) -> bool {
        let order = match (Scalar::of(value), Scalar::of(operand)) {
            (Some(Scalar::Number(one)), Some(Scalar::Number(other))) => one.cmp(&other),
            (Some(Scalar::Text(one)), Some(Scalar::Text(other))) => one.cmp(other),
            _ => return false,
        };
        match self {
            Self::Less => order == Ordering::Less,
            Self::AtMost => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::AtLeast => order != Ordering::Less,
        }
    }
}

impl Kind {
    fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text, Value::String(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_))
            | (Self::Null, Value::Null) => true,
            (Self::Integer, Value::Number(number)) => Number::of(number).is_whole(),
            _ => false,
        }
    }
}
