//! One path and method.

use serde_json::Value;

use super::document::{Document, reference};
use super::schema::{MOST, Values};
use super::{parameter, security, server};
use crate::credentials::Credentials;
use crate::draft::{Draft, DraftOperation, Expect, Status};
use crate::format::Options;

/// Methods that change data.
const CHANGING: [&str; 4] = ["post", "put", "patch", "delete"];
/// Longer summaries are cut.
const LONGEST_SUMMARY: usize = 100;

/// Reads operations one after the other.
pub(super) struct Reader<'a> {
    pub document: &'a Document,
    pub wanted: &'a Options,
    /// What values may still cost.
    pub left: usize,
    /// The note on a server that was made last.
    pub noted: Option<String>,
}

impl<'a> Reader<'a> {
    /// Adds an operation to the draft, unless it is deprecated or goes elsewhere.
    pub fn operation(
        &mut self,
        (method, path): (&str, &str),
        item: &'a Value,
        source: &'a Value,
        draft: &mut Draft,
    ) {
        let place = format!("{} {path}", method.to_ascii_uppercase());
        if source["deprecated"] == true {
            draft.note(None, format!("{place}: it is deprecated, and left out"));
            return;
        }
        let own = [source.get("servers"), item.get("servers"), self.document.root.get("servers")];
        let servers = own.into_iter().flatten().find(|one| one.get(0).is_some());
        let (mut operation, note) = server::to(servers, &mut draft.credentials);
        if !self.wanted.wants(&operation.origin) {
            return;
        }
        if note.is_some() && note != self.noted {
            draft.note(None, note.clone().unwrap_or_default());
            self.noted = note;
        }
        operation.name = match source["operationId"].as_str() {
            Some(id) if !id.trim().is_empty() => words(id),
            _ => format!("{method} {path}"),
        };
        operation.method = method.to_ascii_uppercase();
        comments(&mut operation, method, source);
        let mut notes =
            security::add(self.document, source, &mut operation, &mut draft.credentials);
        notes.extend(self.fill(&mut operation, path, [item, source], &mut draft.credentials));
        operation.expect = expect(source);
        for note in notes {
            draft.note(None, format!("{place}: {note}"));
        }
        draft.add(operation);
    }

    /// Parameters and body; what cannot be said.
    fn fill(
        &mut self,
        operation: &mut DraftOperation,
        path: &str,
        [item, source]: [&'a Value; 2],
        credentials: &mut Credentials,
    ) -> Vec<String> {
        let most = self.left.min(MOST);
        let mut values = Values::new(self.document, credentials, most);
        let parameters = parameters(&mut values, item, source);
        parameter::add(&mut values, operation, path, &parameters);
        if let Some(body) = source.get("requestBody") {
            match values.document.resolve(body) {
                Some(body) => super::body::set(&mut values, operation, body),
                None => {
                    let leads = reference(body).unwrap_or_default();
                    values.notes.insert(format!("the reference {leads:?} is left out"));
                }
            }
        }
        self.left -= most - values.left;
        values.notes.into_iter().collect()
    }
}

/// The parameters of an operation: its own, and those of its path that it does not replace.
fn parameters<'a>(values: &mut Values<'a>, item: &'a Value, source: &'a Value) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    for list in [source, item] {
        for one in list["parameters"].as_array().into_iter().flatten() {
            let Some(resolved) = values.document.resolve(one) else {
                let leads = reference(one).unwrap_or_default();
                values.notes.insert(format!("the reference {leads:?} is left out"));
                continue;
            };
            let is_same =
                |known: &&Value| known["name"] == resolved["name"] && known["in"] == resolved["in"];
            if !found.iter().any(is_same) {
                found.push(resolved);
            }
        }
    }
    found
}

fn comments(operation: &mut DraftOperation, method: &str, source: &Value) {
    let summary = source["summary"].as_str().and_then(|summary| summary.lines().next());
    if let Some(summary) = summary.map(str::trim).filter(|summary| !summary.is_empty()) {
        operation.comments.push(summary.chars().take(LONGEST_SUMMARY).collect());
    }
    if CHANGING.contains(&method) {
        operation.comments.push("changes data: look at it before a run".to_owned());
    }
}

/// `listPets` as `list_pets`.
fn words(id: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for letter in id.chars() {
        if letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push('_');
        }
        out.push(letter);
        before = letter;
    }
    out
}

/// The status of the only good answer, or any 2xx.
fn expect(source: &Value) -> Expect {
    let answers = source["responses"].as_object();
    let names: Vec<&str> = answers.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let code = |digit: char| {
        let mut codes = names.iter().filter(|name| name.starts_with(digit));
        let only = codes.next().filter(|_| codes.next().is_none())?;
        only.parse::<u16>().ok().filter(|code| (100..600).contains(code))
    };
    let has_good = names.iter().any(|name| name.starts_with('2'));
    let status = code('2').or_else(|| code('3').filter(|_| !has_good)).map(Status::Code);
    Expect { status: vec![status.unwrap_or(Status::Class(2))], ..Expect::default() }
}
