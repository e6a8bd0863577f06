//! The body of a request by its mode.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::variables::Variables;
use crate::credentials::is_secret;
use crate::draft::{Body, Draft, DraftOperation, Part};
use crate::request::has_null;
use crate::text::Text;

/// Stands around a variable that is no text in JSON.
const MARK: char = '\u{1}';
/// Types of bodies by what Postman calls their language.
const LANGUAGES: [(&str, &str); 4] = [
    ("xml", "application/xml"),
    ("text", "text/plain"),
    ("html", "text/html"),
    ("javascript", "application/javascript"),
];

/// Sets the body; what cannot be said.
pub(super) fn set(
    source: &Value,
    operation: &mut DraftOperation,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Vec<String> {
    let mut notes = Vec::new();
    if source["disabled"] == true {
        return notes;
    }
    match source["mode"].as_str().unwrap_or_default() {
        "" => {}
        "raw" => raw(source, operation, variables, draft),
        "urlencoded" => operation.body = Body::Form(form(&source["urlencoded"], variables, draft)),
        "formdata" => multipart(source, operation, variables, (draft, &mut notes)),
        "graphql" => {
            let query = source["graphql"]["query"].as_str().unwrap_or_default();
            let mut whole = json!({ "query": query });
            match &source["graphql"]["variables"] {
                Value::String(text) => match parsed(text) {
                    Some(value) => whole["variables"] = value,
                    None if text.trim().is_empty() => {}
                    None => {
                        notes.push("variables of GraphQL that are no JSON are left out".to_owned())
                    }
                },
                value if value.is_object() => whole["variables"] = value.clone(),
                _ => {}
            }
            set_json(whole, operation, variables, draft);
        }
        "file" => match source["file"].as_str().or_else(|| source["file"]["src"].as_str()) {
            Some(file) => operation.body = Body::File(file.to_owned()),
            None => notes.push("a body of a file without a name is left out".to_owned()),
        },
        other => notes.push(format!("a body of the mode {other:?} is left out")),
    }
    notes
}

fn raw(
    source: &Value,
    operation: &mut DraftOperation,
    variables: &mut Variables,
    draft: &mut Draft,
) {
    let text = source["raw"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return;
    }
    let kind = operation.headers.iter().find(|(name, _)| name == "content-type");
    let kind = kind.map(|(_, kind)| kind.as_str().to_ascii_lowercase());
    let language = source["options"]["raw"]["language"].as_str().unwrap_or_default();
    let is_json = match &kind {
        Some(kind) => kind.contains("json"),
        None => language == "json",
    };
    let value = parsed(text);
    if let Some(value) = value.filter(|_| is_json) {
        return set_json(value, operation, variables, draft);
    }
    let known = LANGUAGES.iter().find(|(name, _)| *name == language).map(|(_, kind)| *kind);
    let known = if is_json { Some("application/json") } else { known };
    if let Some(known) = known.filter(|_| kind.is_none()) {
        operation.headers.push(("content-type".to_owned(), known.into()));
    }
    let hidden = hidden_pairs(text, draft);
    operation.body = Body::Text(with_placeholders(&hidden, variables, draft));
}

/// JSON in which a variable may stand in the place of a value.
fn parsed(text: &str) -> Option<Value> {
    let mut out = String::new();
    let (mut is_text, mut is_escaped) = (false, false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if !is_text && rest.starts_with("{{") {
            // In `{{"a": 1}, …` they are braces of JSON.
            if let Some(end) =
                rest.find("}}").filter(|end| !rest[..*end].contains(['"', ':', '\n']))
            {
                out.push_str(&format!("\"\\u0001{}\\u0001\"", &rest[..end + 2]));
                rest = &rest[end + 2..];
                continue;
            }
        }
        if letter == '"' && !is_escaped {
            is_text = !is_text;
        }
        is_escaped = is_text && letter == '\\' && !is_escaped;
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    serde_json::from_str(&out).ok()
}

/// Sets a body of JSON: as a value if TOML can hold it, else as its text.
fn set_json(
    value: Value,
    operation: &mut DraftOperation,
    variables: &mut Variables,
    draft: &mut Draft,
) {
    let value = filled("", value, variables, draft);
    let kind = operation.headers.iter().position(|(name, _)| name == "content-type");
    let text = value.to_string();
    let is_table = value.is_object() || value.is_array();
    if is_table && !has_null(&value) && !text.contains("\\u0001") {
        let is_said = |at: &usize| operation.headers[*at].1.as_str() == "application/json";
        if let Some(at) = kind.filter(is_said) {
            operation.headers.remove(at);
        }
        operation.body = Body::Json(value);
        return;
    }
    if kind.is_none() {
        operation.headers.push(("content-type".to_owned(), "application/json".into()));
    }
    operation.body =
        Body::Text(Text::template(text.replace("\"\\u0001", "").replace("\\u0001\"", "")));
}

/// The value with the variables of its texts, and without its credentials.
fn filled(key: &str, value: Value, variables: &mut Variables, draft: &mut Draft) -> Value {
    match value {
        Value::String(text) => {
            match text.strip_prefix(MARK).and_then(|text| text.strip_suffix(MARK)) {
                Some(inner) => {
                    let text = variables.text(key, inner, draft);
                    Value::String(format!("{MARK}{}{MARK}", text.as_str()))
                }
                None => variables.text(key, &text, draft).as_str().into(),
            }
        }
        Value::Number(number) if is_secret(key) => {
            draft.credentials.hide(key, &number.to_string()).as_str().into()
        }
        Value::Array(values) => {
            values.into_iter().map(|one| filled(key, one, variables, draft)).collect()
        }
        Value::Object(entries) => {
            let mut out = serde_json::Map::new();
            for (key, one) in entries {
                let one = filled(&key, one, variables, draft);
                out.insert(key, one);
            }
            Value::Object(out)
        }
        other => other,
    }
}

fn form(list: &Value, variables: &mut Variables, draft: &mut Draft) -> Vec<(String, Text)> {
    let mut pairs = Vec::new();
    for one in list.as_array().into_iter().flatten().filter(|one| one["disabled"] != true) {
        let key = variables.expanded(one["key"].as_str().unwrap_or_default());
        let value = variables.text(&key, one["value"].as_str().unwrap_or_default(), draft);
        pairs.push((key, value));
    }
    pairs
}

fn multipart(
    source: &Value,
    operation: &mut DraftOperation,
    variables: &mut Variables,
    (draft, notes): (&mut Draft, &mut Vec<String>),
) {
    let mut parts: Vec<(String, Part)> = Vec::new();
    let mut names = HashSet::new();
    let list = source["formdata"].as_array().into_iter().flatten();
    for one in list.filter(|one| one["disabled"] != true) {
        let key = variables.expanded(one["key"].as_str().unwrap_or_default());
        if !names.insert(key.clone()) {
            notes.push(format!("a further part {key:?} of the form is left out"));
            continue;
        }
        let file = one["src"].as_str().or_else(|| one["src"][0].as_str());
        let part = match (one["type"] == "file", file) {
            (true, Some(file)) => {
                Part::File(file.to_owned(), one["contentType"].as_str().map(str::to_owned))
            }
            (true, None) => {
                notes.push(format!("the part {key:?} is a file without a name, and is left out"));
                continue;
            }
            _ => Part::Text(variables.text(&key, one["value"].as_str().unwrap_or_default(), draft)),
        };
        parts.push((key, part));
    }
    operation.headers.retain(|(name, _)| name != "content-type");
    operation.body = Body::Multipart(parts);
}

/// A text whose credentials are already placeholders of ours, between marks.
fn with_placeholders(text: &str, variables: &mut Variables, draft: &mut Draft) -> Text {
    let mut out = String::new();
    for (at, part) in text.split(MARK).enumerate() {
        match at % 2 {
            0 => out.push_str(variables.text("", part, draft).as_str()),
            _ => out.push_str(part),
        }
    }
    Text::template(out)
}

/// Hides values after names of credentials in a text of no known grammar: `"token": "x"`, `token=x`, `<token>x<`.
fn hidden_pairs(text: &str, draft: &mut Draft) -> String {
    let text = text.replace(MARK, "");
    let mut out = String::new();
    let mut rest = text.as_str();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    while let Some(start) = rest.find(is_word) {
        let length = rest[start..].find(|letter| !is_word(letter)).unwrap_or(rest.len() - start);
        let (before, after) = rest.split_at(start + length);
        out.push_str(before);
        rest = after;
        let name = &before[start..];
        let gap = rest.len()
            - rest.trim_start_matches(['"', '\'', ' ']).trim_start_matches([':', '=', '>']).len();
        let has_sign = rest[..gap].contains([':', '=', '>']);
        if !has_sign || !is_secret(name) {
            continue;
        }
        let value = rest[gap..].trim_start_matches([' ', '"', '\'']);
        let gap = rest.len() - value.len();
        let end = value.find(['"', '\'', '<', '&', ',', '\n', '\r', '}']).unwrap_or(value.len());
        out.push_str(&rest[..gap]);
        if end > 0 && !value.starts_with("{{") {
            let hidden = draft.credentials.hide(name, &value[..end]);
            out.push_str(&format!("{MARK}{}{MARK}", hidden.as_str()));
            rest = &value[end..];
        } else {
            rest = value;
        }
    }
    out + rest
}
