//! A second evaluator, straight from the description of the filter language: slow, recursive, on
//! JSON itself.

use std::cmp::Ordering;

use serde_json::{Map, Value};

const WORDS: [&str; 13] = [
    "eq",
    "ne",
    "lt",
    "lte",
    "gt",
    "gte",
    "startswith",
    "endswith",
    "contains",
    "regex",
    "in",
    "exists",
    "type",
];

pub fn matches(filter: &Value, document: &Map<String, Value>) -> bool {
    let members = filter.as_object().expect("filters are objects");
    members.iter().all(|(key, value)| match (key.as_str(), value) {
        ("$and", Value::Array(parts)) => parts.iter().all(|part| matches(part, document)),
        ("$or", Value::Array(parts)) => parts.iter().any(|part| matches(part, document)),
        ("not" | "$not", Value::Object(_)) => !matches(value, document),
        _ => condition(key, value, document),
    })
}

fn condition(key: &str, value: &Value, document: &Map<String, Value>) -> bool {
    let names = names(key);
    if let Value::Object(operators) = value
        && operators.keys().any(|key| key.starts_with('$'))
    {
        return below(operators, field(&names, document));
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() && WORDS.contains(&last.as_str()) => {
            holds(last, field(rest, document), value)
        }
        _ => holds("eq", field(&names, document), value),
    }
}

fn below(operators: &Map<String, Value>, field: Option<&Value>) -> bool {
    operators.iter().all(|(key, operand)| match key.as_str() {
        "$not" => !below(operand.as_object().expect("operators"), field),
        key => holds(&key[1..], field, operand),
    })
}

fn names(key: &str) -> Vec<String> {
    // Temporarily replaces an escaped dot with a character that no generated key contains.
    let key = key.replace("\\.", "\u{1}");
    key.split('.').map(|name| name.replace('\u{1}', ".")).collect()
}

fn field<'d>(names: &[String], document: &'d Map<String, Value>) -> Option<&'d Value> {
    let mut value = document.get(&names[0])?;
    for name in &names[1..] {
        value = value.as_object()?.get(name)?;
    }
    Some(value)
}

fn holds(word: &str, field: Option<&Value>, operand: &Value) -> bool {
    let Some(value) = field else {
        return word == "exists" && *operand == Value::Bool(false);
    };
    match word {
        "eq" => same(value, operand),
        "ne" => !same(value, operand),
        "lt" => order(value, operand) == Some(Ordering::Less),
        "lte" => matches!(order(value, operand), Some(Ordering::Less | Ordering::Equal)),
        "gt" => order(value, operand) == Some(Ordering::Greater),
        "gte" => matches!(order(value, operand), Some(Ordering::Greater | Ordering::Equal)),
        "in" => operand.as_array().expect("an array").iter().any(|one| same(value, one)),
        "exists" => *operand == Value::Bool(true),
        "type" => is_of_type(value, operand.as_str().expect("a word")),
        "contains" => match value {
            Value::Array(elements) => elements.iter().any(|element| same(element, operand)),
            _ => on_text(value, operand, |text, part| text.contains(part)),
        },
        "startswith" => on_text(value, operand, |text, part| text.find(part) == Some(0)),
        "endswith" => on_text(value, operand, |text, part| {
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| &text[at..] == part)
        }),
        "regex" => on_text(value, operand, finds),
        _ => panic!("{word} is no operator"),
    }
}

fn on_text(value: &Value, operand: &Value, holds: impl Fn(&str, &str) -> bool) -> bool {
    match (value, operand) {
        (Value::String(text), Value::String(part)) => holds(text, part),
        _ => false,
    }
}

fn is_of_type(value: &Value, word: &str) -> bool {
    match value {
        Value::Null => word == "null",
        Value::Bool(_) => word == "bool" || word == "boolean",
        Value::String(_) => word == "string",
        Value::Array(_) => word == "array",
        Value::Object(_) => word == "object",
        Value::Number(_) if word == "int" || word == "integer" => scaled(value) % SCALE == 0,
        Value::Number(_) => word == "float" || word == "number",
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && (0..a.len()).all(|at| same(&a[at], &b[at]))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.keys().all(|key| b.contains_key(key) && same(&a[key], &b[key]))
        }
        (Value::Number(_), Value::Number(_)) => scaled(one) == scaled(other),
        _ => one == other,
    }
}

fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => Some(scaled(one).cmp(&scaled(other))),
        (Value::String(one), Value::String(other)) => Some(one.chars().cmp(other.chars())),
        _ => None,
    }
}

const SCALE: i128 = 1 << 60;

/// A number in units of 2⁻⁶⁰. All generated numbers are whole in these units and below 2¹²⁷.
fn scaled(number: &Value) -> i128 {
    let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    integer.map(|integer| integer * SCALE).unwrap_or_else(|| {
        let float = number.as_f64().expect("a number") * SCALE as f64;
        assert!(float.fract() == 0.0 && float.abs() < 1e38, "{number} is not exact here");
        float as i128
    })
}

/// Whether an expression of characters, `.`, `*`, `^` and `$` matches a part of a text: Rob Pike's
/// matcher from "The Practice of Programming".
fn finds(text: &str, expression: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let expression: Vec<char> = expression.chars().collect();
    match expression.split_first() {
        Some(('^', rest)) => here(rest, &text),
        _ => (0..=text.len()).any(|at| here(&expression, &text[at..])),
    }
}

fn here(expression: &[char], text: &[char]) -> bool {
    match expression {
        [] => true,
        ['$'] => text.is_empty(),
        [c, '*', rest @ ..] => {
            let run = text.iter().take_while(|t| *c == '.' || *t == c).count();
            (0..=run).any(|at| here(rest, &text[at..]))
        }
        [c, rest @ ..] => {
            text.first().is_some_and(|t| *c == '.' || t == c) && here(rest, &text[1..])
        }
    }
}
