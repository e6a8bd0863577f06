//! The body of a request by its media type.

use serde_json::Value;

use super::parameter::{scalar, value};
use super::schema::Values;
use crate::draft::{Body, DraftOperation, Part};
use crate::text::Text;

/// Sets the body to the media type that is easiest to send.
pub(super) fn set<'a>(values: &mut Values<'a>, operation: &mut DraftOperation, body: &'a Value) {
    let Some(content) = body["content"].as_object() else { return };
    let best = content.iter().min_by_key(|(kind, _)| rank(&essence(kind)));
    let Some((kind, media)) = best else { return };
    let essence = essence(kind);
    match rank(&essence) {
        0 | 1 => json(values, operation, &essence, media),
        2 => form(values, operation, media),
        3 => multipart(values, operation, media),
        4 => text(values, operation, &essence, media),
        _ => {
            values.notes.insert(format!("a body of {essence:?} is left out"));
        }
    }
}

fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The smaller the better.
fn rank(essence: &str) -> u8 {
    match essence {
        "application/json" | "*/*" | "application/*" => 0,
        json if json.ends_with("+json") => 1,
        "application/x-www-form-urlencoded" => 2,
        "multipart/form-data" => 3,
        text if text.starts_with("text/") || text.ends_with("xml") => 4,
        _ => 5,
    }
}

fn json<'a>(
    values: &mut Values<'a>,
    operation: &mut DraftOperation,
    essence: &str,
    media: &'a Value,
) {
    let Some(made) = value(values, "", media) else {
        values.notes.insert("the body has no value".to_owned());
        return;
    };
    // Some write the example of a table as a text.
    let parsed = made.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let made = match parsed.filter(|parsed| parsed.is_object() || parsed.is_array()) {
        Some(parsed) => match values.example("", &parsed) {
            Some(parsed) => parsed,
            None => return,
        },
        None => made,
    };
    if essence.ends_with("+json") {
        operation.headers.push(("content-type".to_owned(), essence.into()));
    }
    operation.body = Body::Json(made);
}

fn form<'a>(values: &mut Values<'a>, operation: &mut DraftOperation, media: &'a Value) {
    let made = value(values, "", media);
    let Some(Value::Object(entries)) = made else {
        values.notes.insert("a form that is no table is left out".to_owned());
        return;
    };
    let mut pairs = Vec::new();
    for (name, one) in entries {
        match one {
            Value::Array(several) => {
                pairs.extend(several.iter().map(|one| (name.clone(), Text::template(scalar(one)))));
            }
            one => pairs.push((name, Text::template(scalar(&one)))),
        }
    }
    operation.body = Body::Form(pairs);
}

fn multipart<'a>(values: &mut Values<'a>, operation: &mut DraftOperation, media: &'a Value) {
    let schema = media.get("schema").and_then(|schema| values.document.resolve(schema));
    let made = value(values, "", media);
    let Some(Value::Object(entries)) = made else {
        values.notes.insert("a form that is no table is left out".to_owned());
        return;
    };
    let mut parts = Vec::new();
    for (name, one) in entries {
        let property = schema.and_then(|schema| schema["properties"].get(&name));
        let property = property.and_then(|property| values.document.resolve(property));
        if property.is_some_and(is_file) {
            let file = file_name(&name);
            values.notes.insert(format!("put a file {file:?} beside the experiment"));
            parts.push((name, Part::File(file, None)));
        } else {
            parts.push((name, Part::Text(Text::template(scalar(&one)))));
        }
    }
    operation.body = Body::Multipart(parts);
}

/// Whether a part is a file: of binary content, or a list of such.
fn is_file(property: &Value) -> bool {
    let is_binary = |one: &Value| {
        one["format"] == "binary"
            || (one.get("contentMediaType").is_some() && one.get("contentEncoding").is_none())
    };
    is_binary(property) || property.get("items").is_some_and(is_binary)
}

/// A name for a file of this part; nothing reads or writes it here.
fn file_name(part: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("{}.bin", part.chars().take(40).map(letter).collect::<String>())
}

fn text<'a>(
    values: &mut Values<'a>,
    operation: &mut DraftOperation,
    essence: &str,
    media: &'a Value,
) {
    match value(values, "", media) {
        Some(Value::String(made)) if essence != "application/xml" || made.starts_with('<') => {
            operation.headers.push(("content-type".to_owned(), essence.into()));
            operation.body = Body::Text(Text::template(made));
        }
        _ => {
            values
                .notes
                .insert(format!("a body of {essence:?} without an example as text is left out"));
        }
    }
}
