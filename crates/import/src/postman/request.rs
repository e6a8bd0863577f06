//! One request.

use serde_json::Value;

use super::variables::Variables;
use super::{address, auth, body, script};
use crate::braces::{Piece, pieces};
use crate::credentials::Credentials;
use crate::draft::{Auth, Body, Draft, DraftOperation, Part};
use crate::format::Options;
use crate::request;
use crate::text::Text;

/// A request with what it inherits.
pub(super) struct Item<'a> {
    /// With the names of its folders.
    pub name: String,
    /// `request`: a table, or an address.
    pub source: &'a Value,
    /// Its scripts.
    pub events: &'a Value,
    /// Its own credentials, or those of its folder or collection.
    pub auth: &'a Value,
}

impl Item<'_> {
    /// Adds it to the draft, unless it goes elsewhere.
    pub fn add(&self, wanted: &Options, variables: &mut Variables, draft: &mut Draft) {
        let url = if self.source.is_string() { self.source } else { &self.source["url"] };
        let mut operation = match address::to(url, variables, draft) {
            Ok(operation) => operation,
            Err(error) => return draft.note(None, format!("{}: {error}", self.name)),
        };
        if !wanted.wants(&operation.origin) {
            return;
        }
        operation.name.clone_from(&self.name);
        let method = self.source["method"].as_str().unwrap_or("GET");
        operation.method = method.trim().to_ascii_uppercase();
        let has_method = !operation.method.is_empty() && request::is_field_name(&operation.method);
        if !has_method || operation.method == "CONNECT" {
            return draft
                .note(None, format!("{}: the method {method:?} cannot be sent", self.name));
        }
        let mut notes: Vec<String> = Vec::new();
        notes.extend(auth::add(self.auth, &mut operation, variables, draft));
        self.headers(&mut operation, variables, draft, &mut notes);
        notes.extend(body::set(&self.source["body"], &mut operation, variables, draft));
        let mut sets = Vec::new();
        for event in self.events.as_array().into_iter().flatten() {
            if event["listen"] != "test" {
                match script::lines(event) {
                    0 => {}
                    lines => {
                        notes.push(format!("a pre-request script is left out (lines: {lines})"))
                    }
                }
                continue;
            }
            let found = script::read(event);
            if found.left > 0 {
                notes
                    .push(format!("a part of the test script is left out (lines: {})", found.left));
            }
            if !found.status.is_empty() {
                operation.expect.status = found.status;
            }
            sets.extend(found.sets);
        }
        for note in notes {
            draft.note(None, format!("{}: {note}", self.name));
        }
        let place = draft.add(operation);
        for (name, capture) in sets {
            variables.set(&name, place, capture);
        }
    }

    fn headers(
        &self,
        operation: &mut DraftOperation,
        variables: &mut Variables,
        draft: &mut Draft,
        notes: &mut Vec<String>,
    ) {
        let mut fields: Vec<(String, String)> = Vec::new();
        match &self.source["header"] {
            Value::String(text) => {
                let pairs = text.lines().filter_map(|line| line.split_once(':'));
                fields.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
            }
            Value::Array(list) => {
                for one in list.iter().filter(|one| one["disabled"] != true) {
                    let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
                    fields.push((text("key"), text("value")));
                }
            }
            _ => {}
        }
        for (name, value) in fields {
            let (name, value) = (variables.expanded(name.trim()), value.trim());
            let value: String =
                value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            if request::is_field_name(&name) {
                add_header(operation, (&name, &value), variables, draft);
            } else if !name.is_empty() {
                notes.push(format!("{name:?} is no name of a header field, and is left out"));
            }
        }
    }
}

fn add_header(
    operation: &mut DraftOperation,
    (name, value): (&str, &str),
    variables: &mut Variables,
    draft: &mut Draft,
) {
    if !value.contains("{{") {
        return request::add_header(operation, name, value, &mut draft.credentials);
    }
    let lower = name.to_ascii_lowercase();
    if request::is_computed(&lower) {
        return;
    }
    let (scheme, rest) = value.split_once(' ').unwrap_or(("", value));
    if lower == "authorization" && scheme.eq_ignore_ascii_case("bearer") {
        operation.auth = Some(Auth::Bearer(variables.credential("token", rest.trim(), draft)));
        return;
    }
    let text = variables.text(name, value, draft);
    operation.headers.push((lower, text));
}

/// Replaces credentials that stand in other texts as well, now that all of them are known.
pub(super) fn redact(draft: &mut Draft) {
    let Draft { operations, credentials, .. } = draft;
    let clean = |text: &mut Text| *text = redacted(text, credentials);
    for operation in operations {
        clean(&mut operation.path);
        operation.query.iter_mut().for_each(|(_, value)| clean(value));
        operation.headers.iter_mut().for_each(|(_, value)| clean(value));
        match &mut operation.auth {
            Some(Auth::Basic(user, _)) => clean(user),
            Some(Auth::Bearer(_)) | None => {}
        }
        match &mut operation.body {
            Body::Empty | Body::File(_) => {}
            Body::Text(text) => clean(text),
            Body::Json(value) => redact_json(value, credentials),
            Body::Form(pairs) => pairs.iter_mut().for_each(|(_, value)| clean(value)),
            Body::Multipart(parts) => {
                for (_, part) in parts {
                    if let Part::Text(text) = part {
                        clean(text);
                    }
                }
            }
        }
    }
}

fn redact_json(value: &mut Value, credentials: &Credentials) {
    match value {
        Value::String(text) => {
            *text = redacted(&Text::template(text.as_str()), credentials).as_str().to_owned();
        }
        Value::Array(values) => values.iter_mut().for_each(|one| redact_json(one, credentials)),
        Value::Object(entries) => {
            entries.values_mut().for_each(|one| redact_json(one, credentials))
        }
        _ => {}
    }
}

/// A template whose literal parts hold no credential.
fn redacted(text: &Text, credentials: &Credentials) -> Text {
    let mut out = String::new();
    for piece in pieces(text.as_str()) {
        match piece {
            Piece::Literal(literal) => out.push_str(&credentials.redact(literal)),
            // Four braces are two that mean themselves.
            Piece::Variable(name) if name.starts_with("{{") => {
                out.push_str(&credentials.redact(&format!("{{{{{name}}}}}")));
            }
            Piece::Variable(name) => out.push_str(&format!("{{{{{name}}}}}")),
        }
    }
    Text::template(out)
}
