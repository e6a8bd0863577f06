//! JSON values compared by what they mean: 5 is 5.0, and no number is rounded to compare it.

use std::cmp::Ordering;

use serde_json::Value;

/// Beyond this size every number is a [`Number::Fraction`], and no integer of JSON is as large.
const HUGE: f64 = 1e38;

/// A number of JSON, exactly.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// A whole number, however it was written.
    Integer(i128),
    /// One that has a fraction, or is beyond ±10³⁸.
    Fraction(f64),
}

impl Number {
    /// What a JSON number stands for.
    pub fn of(number: &serde_json::Number) -> Self {
        if let Some(integer) = number.as_i128() {
            return Self::Integer(integer);
        }
        let float = number.as_f64().expect("a number of JSON is an integer or a float");
        match float.fract() == 0.0 && float.abs() < HUGE {
            // Exact: each whole float below 2¹²⁷ is an i128.
            true => Self::Integer(float as i128),
            false => Self::Fraction(float),
        }
    }

    /// Whether it has no fraction.
    pub fn is_whole(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Fraction(float) => float.fract() == 0.0,
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(&other),
            (Self::Fraction(one), Self::Fraction(other)) => one.total_cmp(&other),
            // A fraction below 2⁵³ meets an integer that is exact as a float, or far larger than
            // the fraction; a huge one meets an integer that is far smaller. Rounding the integer
            // changes neither outcome.
            (Self::Integer(one), Self::Fraction(other)) => (one as f64).total_cmp(&other),
            (Self::Fraction(one), Self::Integer(other)) => one.total_cmp(&(other as f64)),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

/// A value that is neither array nor object. Ordered by kind, then by value; text by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar<'a> {
    /// `null`
    Null,
    /// `false` before `true`
    Bool(bool),
    /// By size.
    Number(Number),
    /// By code points, which is by bytes.
    Text(&'a str),
}

impl<'a> Scalar<'a> {
    /// A value as a scalar; `None` for arrays and objects.
    pub fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(bool) => Some(Self::Bool(*bool)),
            Value::Number(number) => Some(Self::Number(Number::of(number))),
            Value::String(text) => Some(Self::Text(text)),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// A whole number.
    pub fn integer(integer: impl Into<i128>) -> Self {
        Self::Number(Number::Integer(integer.into()))
    }

    /// The same as JSON.
    pub fn to_json(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => bool.into(),
            Self::Text(text) => text.into(),
            Self::Number(Number::Fraction(float)) => float.into(),
            Self::Number(Number::Integer(integer)) => {
                let number = serde_json::Number::from_i128(integer);
                number.map_or_else(|| (integer as f64).into(), Value::Number)
            }
        }
    }
}

/// Whether two values are the same, numbers by what they stand for.
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value)| other.get(name).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(has)
        }
        _ => match (Scalar::of(one), Scalar::of(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
    }
}

/// Whether arrays and objects are nested at most so deep; looks no deeper.
pub fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => {
            levels > 0 && elements.iter().all(|element| is_nested_within(element, levels - 1))
        }
        Value::Object(members) => {
            levels > 0 && members.values().all(|member| is_nested_within(member, levels - 1))
        }
        _ => true,
    }
}
