//! API descriptions: OpenAPI 3.0 and 3.1, as JSON or YAML.
//!
//! Each path and method is an operation with example values. Only references within the file are followed.
//!
//! Source: OpenAPI Specification 3.0.4 and 3.1.1 (spec.openapis.org/oas)

mod body;
mod document;
mod operation;
mod parameter;
mod pattern;
mod schema;
mod security;
mod server;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use self::document::{Document, reference};
use self::operation::Reader;
use crate::draft::Draft;
use crate::format::{Options, Unreadable};

/// The methods of a path, in the order in which they are written.
const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];
/// What values of all operations together may cost, in values looked at.
const MOST_VALUES: usize = 3_000_000;
/// Further operations are left out.
const MOST_OPERATIONS: usize = 10_000;
/// How much of a text that is no JSON is looked at.
const HEAD: usize = 4_096;

/// What tells a description from other JSON.
#[derive(Deserialize)]
struct Head {
    openapi: Option<IgnoredAny>,
    swagger: Option<IgnoredAny>,
}

/// Whether a text seems to be a description; also one of Swagger 2.0, which [`read`] refuses.
pub fn seems(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') {
        return match serde_json::from_str::<Head>(text) {
            Ok(head) => head.openapi.is_some() || head.swagger.is_some(),
            Err(_) => {
                let head: String = text.chars().take(HEAD).collect();
                head.contains("\"openapi\"") || head.contains("\"swagger\"")
            }
        };
    }
    let is_version = |line: &str| {
        let line = line.replace(['"', '\''], "");
        line.starts_with("openapi:") || line.starts_with("swagger:")
    };
    text.lines().filter(|line| line.len() < 80).any(is_version)
}

/// Reads every operation.
///
/// Errors: neither JSON nor YAML; another version than 3.0, 3.1 and 3.2
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let document = Document::parse(text)?;
    check_version(&document)?;
    let title = document.root.get("info").and_then(|info| info["title"].as_str());
    let mut draft = Draft { title: title.unwrap_or_default().to_owned(), ..Draft::default() };
    let mut reader = Reader { document: &document, wanted, left: MOST_VALUES, noted: None };
    let mut omitted = 0_usize;
    for (path, item) in document.paths.iter().filter(|(path, _)| path.starts_with('/')) {
        let Some(resolved) = document.resolve(item) else {
            let leads = reference(item).unwrap_or_default();
            draft.note(None, format!("{path}: the reference {leads:?} is left out"));
            continue;
        };
        for method in METHODS {
            match resolved.get(method) {
                Some(_) if draft.operations.len() >= MOST_OPERATIONS => omitted += 1,
                Some(operation) => {
                    reader.operation((method, path), resolved, operation, &mut draft)
                }
                None => {}
            }
        }
        if resolved.get("trace").is_some() {
            draft.note(None, format!("TRACE {path}: it is left out"));
        }
    }
    if omitted > 0 {
        draft.note(
            None,
            format!("{omitted} operations after the first {MOST_OPERATIONS} are left out"),
        );
    }
    note_others(&document, &mut draft);
    if let Some(first) = draft.operations.first_mut() {
        let weights =
            "All operations start equally often: give each the weight that it has in your traffic.";
        first.comments.insert(0, weights.to_owned());
    }
    Ok(draft)
}

/// Notes what stands beside paths.
fn note_others(document: &Document, draft: &mut Draft) {
    if let Some(Value::Object(hooks)) = document.root.get("webhooks") {
        draft.note(None, format!("webhooks are left out: {}", hooks.len()));
    }
}

fn check_version(document: &Document) -> Result<(), Unreadable> {
    let text = |key: &str| match document.root.get(key) {
        Some(Value::String(version)) => version.clone(),
        Some(Value::Number(version)) => version.to_string(),
        _ => String::new(),
    };
    let (openapi, swagger) = (text("openapi"), text("swagger"));
    if openapi.starts_with("3.") || openapi == "3" {
        return Ok(());
    }
    let what = match (openapi.as_str(), swagger.as_str()) {
        ("", "") => "this is no API description: it has no `openapi`".to_owned(),
        ("", swagger) => format!("Swagger {swagger:?} cannot be imported"),
        (openapi, _) => format!("OpenAPI {openapi:?} cannot be imported"),
    };
    let hint =
        "convert it to OpenAPI 3.0, for example with `npx swagger2openapi` or at editor.swagger.io";
    let hint = (!swagger.is_empty()).then(|| hint.to_owned());
    Err(Unreadable { line: None, what, hint })
}
