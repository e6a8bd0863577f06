//! What an expression of a script stands for, as far as it is known without running it.

use super::super::tree::Function;

/// A value. Texts may hold masks of placeholders.
#[derive(Debug, Clone)]
pub(super) enum Value<'t> {
    /// Not known.
    Unknown,
    /// Nothing: `undefined` or `null`.
    Nothing,
    Bool(bool),
    Number(f64),
    Text(String),
    /// A number that is a placeholder.
    Numeric(String),
    /// A number drawn evenly from this range.
    Drawn(f64, f64),
    /// A whole number drawn evenly from this range, both ends included.
    Whole(f64, f64),
    List(Vec<Value<'t>>),
    Object(Vec<(String, Value<'t>)>),
    Function(&'t Function),
    /// `__ENV`.
    Environment,
    /// The text of a file.
    File(String),
    /// Rows of data, with the number of its file.
    Data(usize),
    /// The current row of it.
    Row(usize),
    /// The answer of the operation at this place.
    Answer(usize),
    /// A part of it.
    Part(usize, Part),
    /// What `setup` answers, by the name of the variable that has it.
    Outside(String),
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Status,
    Body,
    /// At a JSONPath.
    Json(String),
    Headers,
    Header(String),
    Cookies,
    /// A cookie, and the list of it.
    Cookie(String),
    Timings,
    /// A time, by its name.
    Time(String),
    /// How many a value at a JSONPath has, or how long the body is without one.
    Length(Option<String>),
    /// The content of a page, which is not read.
    Other,
}

impl<'t> Value<'t> {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Whether it holds, if that is known.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Nothing => Some(false),
            Self::Bool(is) => Some(*is),
            Self::Number(number) => Some(*number != 0.0),
            Self::Text(text) => (!crate::masks::is_masked(text)).then_some(!text.is_empty()),
            Self::List(_) | Self::Object(_) | Self::Function(_) => Some(true),
            _ => None,
        }
    }

    /// How many values it holds.
    pub fn size(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Object(entries) => 1 + entries.iter().map(|(_, one)| one.size()).sum::<usize>(),
            _ => 1,
        }
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&Value<'t>> {
        let Self::Object(entries) = self else { return None };
        entries.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// A number as JavaScript writes it.
pub(super) fn plain(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => format!("{}", number as i64),
        false => number.to_string(),
    }
}

/// A JSONPath with one more name.
pub(super) fn member(path: &str, name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (is_plain, name.parse::<u32>()) {
        (true, _) => format!("{path}.{name}"),
        (_, Ok(number)) => format!("{path}[{number}]"),
        _ => format!("{path}['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}
