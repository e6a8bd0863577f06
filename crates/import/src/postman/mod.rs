//! Collections of Postman, versions 2.0 and 2.1.
//!
//! Each request is an operation. Scripts are not run: what they set from an answer becomes a capture, and what they
//! expect of its status an expectation; the rest of them is noted.
//!
//! Source: the schema of collections (schema.postman.com/json/collection/v2.1.0)

mod address;
mod auth;
mod body;
mod request;
mod script;
#[cfg(test)]
mod tests;
mod variables;

use serde::Deserialize;
use serde_json::Value;

use self::request::Item;
use self::variables::Variables;
use crate::draft::{Draft, DraftJourney, DraftStep};
use crate::format::{Options, Unreadable};

/// How much of a text that is no JSON is looked at.
const HEAD: usize = 4_096;

/// What tells a collection from other JSON.
#[derive(Deserialize)]
struct Head {
    info: Option<Info>,
}

#[derive(Deserialize)]
struct Info {
    schema: Option<Value>,
    #[serde(rename = "_postman_id")]
    id: Option<Value>,
}

/// Whether a text seems to be a collection.
pub fn seems(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return false;
    }
    match serde_json::from_str::<Head>(text) {
        Ok(head) => head.info.is_some_and(|info| {
            let schema = info.schema.as_ref().and_then(Value::as_str).unwrap_or_default();
            info.id.is_some() || schema.contains("postman")
        }),
        Err(error) if error.is_data() => false,
        Err(_) => {
            let head: String = text.chars().take(HEAD).collect();
            head.contains("postman.com/json/collection") || head.contains("\"_postman_id\"")
        }
    }
}

/// Reads every request.
///
/// Errors: not JSON; a collection of version 1
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    let collection: Value = serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        Unreadable::new(error.line(), format!("this cannot be read as JSON: {what}"))
    })?;
    let Some(items) = collection["item"].as_array() else {
        let hint = "export it from Postman as a collection v2.1";
        let what = "this is no collection of version 2: it has no `item`".to_owned();
        return Err(Unreadable { line: None, what, hint: Some(hint.to_owned()) });
    };
    let title = collection["info"]["name"].as_str().unwrap_or_default().to_owned();
    let mut draft = Draft { title, ..Draft::default() };
    let mut variables = Variables::of(&collection["variable"], &mut draft);
    note_scripts("the collection", &collection, &mut draft);
    let folder = Folder { names: Vec::new(), auth: &collection["auth"] };
    folder.read(items, wanted, &mut variables, &mut draft);
    request::redact(&mut draft);
    add_journey(&variables, &mut draft);
    Ok(draft)
}

/// Requests that share names and credentials.
struct Folder<'a> {
    names: Vec<&'a str>,
    auth: &'a Value,
}

impl<'a> Folder<'a> {
    fn read(
        &self,
        items: &'a [Value],
        wanted: &Options,
        variables: &mut Variables,
        draft: &mut Draft,
    ) {
        for item in items {
            let name = item["name"].as_str().unwrap_or_default();
            let mut names = self.names.clone();
            names.push(name);
            if let Some(inner) = item["item"].as_array() {
                note_scripts(&format!("the folder {:?}", names.join(" / ")), item, draft);
                let auth = if item["auth"].is_object() { &item["auth"] } else { self.auth };
                Folder { names, auth }.read(inner, wanted, variables, draft);
                continue;
            }
            let source = &item["request"];
            let own = if source["auth"].is_object() { &source["auth"] } else { self.auth };
            if source.is_object() || source.is_string() {
                let found =
                    Item { name: names.join(" "), source, events: &item["event"], auth: own };
                found.add(wanted, variables, draft);
            }
        }
    }
}

/// Notes the scripts of a collection or a folder, which run for each of its requests.
fn note_scripts(of: &str, source: &Value, draft: &mut Draft) {
    let lines: usize = source["event"].as_array().into_iter().flatten().map(script::lines).sum();
    if lines > 0 {
        draft.note(None, format!("scripts of {of} are left out (lines: {lines})"));
    }
}

/// Puts all operations into one journey if one uses what another captures.
fn add_journey(variables: &Variables, draft: &mut Draft) {
    if !variables.has_captures {
        return;
    }
    let steps = (0..draft.operations.len()).map(|place| DraftStep::Do(vec![place])).collect();
    draft.add_journey(DraftJourney {
        name: "collection".to_owned(),
        steps,
        ..DraftJourney::default()
    });
}
