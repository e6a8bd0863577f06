//! Values of a script that are known without running it, each with its place.

use std::cell::Cell;
use std::collections::HashMap;

use quantities::parse_duration;

use super::tree::{At, Entry, Expr, Kind};

/// Constants that name each other are followed so far.
const DEEPEST: usize = 64;
/// Expressions of a script that are looked at; from there on nothing is known.
const MOST: usize = 2_000_000;
/// Longer texts are not known.
const LONGEST: usize = 1 << 16;

/// A value.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    pub at: At,
    pub kind: ConstantKind,
}

#[derive(Debug, Clone)]
pub(super) enum ConstantKind {
    /// Not known.
    Unknown,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Constant>),
    Object(Vec<Field>),
}

/// An entry of an object.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub name: String,
    pub name_at: At,
    pub value: Constant,
}

/// Names of the script and their values.
pub(super) struct Globals<'t> {
    pub names: HashMap<&'t str, &'t Expr>,
    /// Expressions that may still be looked at: constants that name each other may stand for more than fits anywhere.
    left: Cell<usize>,
}

impl Default for Globals<'_> {
    fn default() -> Self {
        Self { names: HashMap::new(), left: Cell::new(MOST) }
    }
}

impl Constant {
    /// The value of an expression.
    pub fn of(one: &Expr, globals: &Globals<'_>) -> Self {
        value(one, globals, DEEPEST)
    }

    /// The entries, if it is an object.
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            ConstantKind::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The values, if it is a list.
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            ConstantKind::List(items) => items,
            _ => &[],
        }
    }

    /// The entry of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().rev().find(|field| field.name == name)
    }

    /// The value of the entry of this name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.field(name).map(|field| &field.value)
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            ConstantKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one or a text of one.
    pub fn number(&self) -> Option<f64> {
        match &self.kind {
            ConstantKind::Number(number) => Some(*number),
            ConstantKind::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The seconds of `1m30s` or of a number of milliseconds.
    pub fn seconds(&self) -> Option<f64> {
        match &self.kind {
            ConstantKind::Number(number) => Some(number / 1000.0),
            ConstantKind::Text(text) => seconds(text),
            _ => None,
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self.kind, ConstantKind::Unknown)
    }
}

/// The seconds of `1h5m30.5s`; k6 has days, too.
fn seconds(text: &str) -> Option<f64> {
    let below = |text| parse_duration(text).map(|duration| duration.as_secs_f64());
    let days = |text: &str| text.trim().parse().ok().map(|days: f64| days * 86_400.0);
    let seconds = match text.split_once('d') {
        None => below(text)?,
        Some((whole, "")) => days(whole)?,
        Some((whole, rest)) => days(whole)? + below(rest)?,
    };
    (0.0..1e9).contains(&seconds).then_some(seconds)
}

fn value(one: &Expr, globals: &Globals<'_>, deepest: usize) -> Constant {
    let left = globals.left.get();
    globals.left.set(left.saturating_sub(1));
    let kind = match deepest.checked_sub(1).filter(|_| left > 0) {
        None => ConstantKind::Unknown,
        Some(deepest) => kind(one, globals, deepest),
    };
    Constant { at: one.at.clone(), kind }
}

fn kind(one: &Expr, globals: &Globals<'_>, deepest: usize) -> ConstantKind {
    let of = |one: &Expr| value(one, globals, deepest);
    match &one.kind {
        Kind::Bool(is) => ConstantKind::Bool(*is),
        Kind::Number(number) => ConstantKind::Number(*number),
        Kind::Text(text) => ConstantKind::Text(text.clone()),
        Kind::Template(texts, between) => template(texts, between.iter().map(of)),
        Kind::Name(name) => match globals.names.get(name.as_str()) {
            Some(one) => of(one).kind,
            None => ConstantKind::Unknown,
        },
        Kind::List(items) => ConstantKind::List(items.iter().map(of).collect()),
        Kind::Object(entries) => ConstantKind::Object(fields(entries, of)),
        Kind::Member(object, name) => {
            of(object).get(name).map_or(ConstantKind::Unknown, |one| one.kind.clone())
        }
        Kind::Unary("-", one) => {
            of(one).number().map_or(ConstantKind::Unknown, |n| ConstantKind::Number(-n))
        }
        Kind::Unary("+", one) => {
            of(one).number().map_or(ConstantKind::Unknown, ConstantKind::Number)
        }
        Kind::Binary(operator, left, right) => binary(operator, of(left), of(right)),
        // A choice by the environment has its other value.
        Kind::Conditional(_, then, otherwise) => {
            Some(of(otherwise)).filter(Constant::is_known).unwrap_or_else(|| of(then)).kind
        }
        Kind::Call(callee, arguments) => match arguments.first() {
            Some(first) => called(&callee.path().unwrap_or_default(), of(first)),
            None => ConstantKind::Unknown,
        },
        _ => ConstantKind::Unknown,
    }
}

fn template(texts: &[String], between: impl Iterator<Item = Constant>) -> ConstantKind {
    let mut out = texts.first().cloned().unwrap_or_default();
    for (one, text) in between.zip(texts.iter().skip(1)) {
        match one.kind {
            ConstantKind::Text(value) => out.push_str(&value),
            ConstantKind::Number(number) => out.push_str(&number.to_string()),
            _ => return ConstantKind::Unknown,
        }
        out.push_str(text);
        if out.len() > LONGEST {
            return ConstantKind::Unknown;
        }
    }
    ConstantKind::Text(out)
}

fn fields(entries: &[Entry], of: impl Fn(&Expr) -> Constant) -> Vec<Field> {
    let mut fields = Vec::new();
    for entry in entries {
        let value = of(&entry.value);
        let Some(name) = &entry.name else {
            fields.extend(value.fields().iter().cloned());
            continue;
        };
        let text = match &name.text {
            Ok(text) => Some(text.clone()),
            Err(computed) => of(computed).text().map(str::to_owned),
        };
        fields.extend(text.map(|name_text| Field {
            name: name_text,
            name_at: name.at.clone(),
            value,
        }));
    }
    fields
}

fn called(path: &[&str], first: Constant) -> ConstantKind {
    let number = first.number();
    match path {
        ["Number" | "parseInt" | "parseFloat"] | ["Number", _] => {
            number.map_or(ConstantKind::Unknown, ConstantKind::Number)
        }
        ["String"] => first.kind,
        ["Math", name] => match (*name, number) {
            ("floor", Some(number)) => ConstantKind::Number(number.floor()),
            ("trunc", Some(number)) => ConstantKind::Number(number.trunc()),
            ("round", Some(number)) => ConstantKind::Number((number + 0.5).floor()),
            ("ceil", Some(number)) => ConstantKind::Number(number.ceil()),
            _ => ConstantKind::Unknown,
        },
        _ => ConstantKind::Unknown,
    }
}

fn binary(operator: &str, left: Constant, right: Constant) -> ConstantKind {
    use ConstantKind::{Number, Text, Unknown};
    match (operator, left.kind, right.kind) {
        ("||" | "??", Unknown, right) => right,
        ("||" | "??", left, _) => left,
        ("+", Text(left), Text(right)) if left.len() + right.len() <= LONGEST => {
            Text(left + &right)
        }
        ("+", Text(left), Number(right)) => Text(left + &right.to_string()),
        ("+", Number(left), Text(right)) => Text(left.to_string() + &right),
        ("+", Number(left), Number(right)) => Number(left + right),
        ("-", Number(left), Number(right)) => Number(left - right),
        ("*", Number(left), Number(right)) => Number(left * right),
        ("/", Number(left), Number(right)) => Number(left / right),
        _ => Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_k6() {
        let known = [("1h5m30.5s", 3930.5), ("500ms", 0.5), ("1d", 86_400.0), ("1d2h", 93_600.0)];
        for (text, expected) in known {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "d", "5", "-1d", "infd", "1d2", "99999999999d", "1w"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_rounded_as_javascript_does() {
        let rounded = |name, number| {
            let first = Constant { at: 0..0, kind: ConstantKind::Number(number) };
            match called(&["Math", name], first) {
                ConstantKind::Number(number) => number,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            ["floor", "trunc", "round", "ceil"].map(|name| rounded(name, 2.5)),
            [2.0, 2.0, 3.0, 3.0]
        );
        assert_eq!(
            ["floor", "trunc", "round", "ceil"].map(|name| rounded(name, -2.5)),
            [-3.0, -2.0, -2.0, -2.0]
        );
    }
}
