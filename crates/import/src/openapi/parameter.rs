//! Parameters of the path, the query, header fields and cookies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schema::Values;
use crate::credentials::is_secret;
use crate::draft::DraftOperation;
use crate::request;
use crate::text::Text;

/// Header fields that parameters do not describe.
const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];

/// Fills in the path, and adds the parameters that are required or have an example.
pub(super) fn add<'a>(
    values: &mut Values<'a>,
    operation: &mut DraftOperation,
    path: &str,
    parameters: &[&'a Value],
) {
    let mut in_path = BTreeMap::new();
    let mut cookies = Vec::new();
    for &parameter in parameters {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        if place != "path" && !is_wanted(values, parameter) {
            continue;
        }
        let Some(value) = value(values, name, parameter) else {
            values.notes.insert(format!("no value for the parameter {name:?}"));
            continue;
        };
        match place {
            "path" => {
                in_path.insert(name, segment(&joined(&value)));
            }
            "query" => query(operation, parameter, name, &value),
            "header" => header(values, operation, name, &joined(&value)),
            "cookie" => cookies.push(format!("{name}={}", joined(&value))),
            _ => {
                values.notes.insert(format!("the parameter {name:?} in {place:?} is left out"));
            }
        }
    }
    if !cookies.is_empty() {
        header(values, operation, "cookie", &cookies.join("; "));
    }
    let base = operation.path.as_str().trim_end_matches('/').to_owned();
    let filled = filled(values, path, &in_path);
    operation.path = Text::template(format!("{base}{filled}"));
}

/// Whether a parameter outside the path is sent.
fn is_wanted(values: &Values<'_>, parameter: &Value) -> bool {
    let schema = parameter.get("schema").and_then(|schema| values.document.resolve(schema));
    let has = |one: &Value| {
        ["example", "examples"]
            .iter()
            .any(|key| one.get(*key).is_some_and(|value| !value.is_null()))
    };
    parameter["required"] == true || has(parameter) || schema.is_some_and(has)
}

/// The value of a parameter or a media type: its example, or one for its schema.
pub(super) fn value<'a>(values: &mut Values<'a>, key: &str, source: &'a Value) -> Option<Value> {
    if let Some(example) = example(values, source) {
        return values.example(key, example);
    }
    if let Some(schema) = source.get("schema") {
        return values.of(key, schema);
    }
    let content = source["content"].as_object()?.values().next()?;
    let value = match example(values, content) {
        Some(example) => values.example(key, example)?,
        None => values.of(key, content.get("schema")?)?,
    };
    Some(Value::String(scalar(&value)))
}

/// `example`, or the first of `examples` that has a value.
fn example<'a>(values: &mut Values<'a>, source: &'a Value) -> Option<&'a Value> {
    if let Some(example) = source.get("example").filter(|one| !one.is_null()) {
        return Some(example);
    }
    for one in source.get("examples")?.as_object()?.values() {
        match values.document.resolve(one).and_then(|one| one.get("value")) {
            Some(value) if !value.is_null() => return Some(value),
            _ => {
                values.notes.insert("an example outside the file is left out".to_owned());
            }
        }
    }
    None
}

/// A value as a text: JSON if it is a list or a table.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value with commas between its elements.
fn joined(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(scalar).collect::<Vec<_>>().join(","),
        Value::Object(entries) => {
            let parts = entries.iter().map(|(name, value)| format!("{name},{}", scalar(value)));
            parts.collect::<Vec<_>>().join(",")
        }
        other => scalar(other),
    }
}

fn query(operation: &mut DraftOperation, parameter: &Value, name: &str, value: &Value) {
    let style = parameter["style"].as_str().unwrap_or("form");
    let is_exploded = parameter["explode"].as_bool().unwrap_or(style == "form");
    let mut push = |name: String, text: String| operation.query.push((name, Text::template(text)));
    match value {
        Value::Array(values) if is_exploded => {
            values.iter().for_each(|one| push(name.to_owned(), scalar(one)));
        }
        Value::Array(values) => {
            let between = match style {
                "spaceDelimited" => " ",
                "pipeDelimited" => "|",
                _ => ",",
            };
            push(name.to_owned(), values.iter().map(scalar).collect::<Vec<_>>().join(between));
        }
        Value::Object(entries) if style == "deepObject" => {
            entries.iter().for_each(|(key, one)| push(format!("{name}[{key}]"), scalar(one)));
        }
        Value::Object(entries) if is_exploded => {
            entries.iter().for_each(|(key, one)| push(key.clone(), scalar(one)));
        }
        other => push(name.to_owned(), joined(other)),
    }
}

fn header(values: &mut Values<'_>, operation: &mut DraftOperation, name: &str, value: &str) {
    let lower = name.to_ascii_lowercase();
    if IGNORED.contains(&lower.as_str()) || request::is_computed(&lower) {
        return;
    }
    if !request::is_field_name(name) {
        values.notes.insert(format!("{name:?} is no name of a header field, and is left out"));
        return;
    }
    let clean: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Examples hide credentials by their names; a made value is none yet.
    let text = match is_secret(&lower) && !clean.contains("{{") {
        true => values.credentials.hide(&lower, &clean),
        false => Text::template(clean),
    };
    operation.headers.push((lower, text));
}

/// A value as a part of a path.
fn segment(template: &str) -> String {
    let is_placeholder = template.starts_with("{{") && !template.starts_with("{{{{");
    match is_placeholder {
        true => template.to_owned(),
        false => request::encoded(&template.replace("{{{{", "{{"), true),
    }
}

/// The path with the values of its parameters.
fn filled(values: &mut Values<'_>, path: &str, in_path: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = path.split('#').next().unwrap_or_default();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(&literal(before));
        match in_path.get(name) {
            Some(value) => out.push_str(value),
            None => {
                values.notes.insert(format!("the parameter {name:?} of the path is not described"));
                out.push('1');
            }
        }
        rest = after;
    }
    out + &literal(rest)
}

/// A part of a path that is no parameter; `?` stays what it is.
fn literal(part: &str) -> String {
    part.split('?').map(|part| request::encoded(part, false)).collect::<Vec<_>>().join("?")
}
