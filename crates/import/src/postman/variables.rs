//! Variables of Postman: `{{name}}` in its texts.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::Value;

use crate::braces::{self, Piece, pieces};
use crate::credentials::{Credentials, is_secret};
use crate::draft::{Capture, Draft, value_name};
use crate::text::Text;

/// What all replaced variables together may bring; further ones stay variables.
const MOST_REPLACED: usize = 16 << 20;
/// What stands before credentials in a header field and is none itself.
const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "apikey", "key"];

/// What is known of the variables.
#[derive(Default)]
pub(super) struct Variables {
    /// Values of the collection.
    values: HashMap<String, Value>,
    /// Which operation sets a variable from its answer: its place, the name of the capture, and the capture.
    setters: HashMap<String, (usize, String, Capture)>,
    /// How much replaced variables have brought.
    replaced: Cell<usize>,
    /// Whether a variable became a capture.
    pub has_captures: bool,
    /// Addresses that were noted.
    pub noted: Vec<String>,
}

impl Variables {
    /// Those of a collection.
    pub fn of(list: &Value, draft: &mut Draft) -> Self {
        let mut variables = Self::default();
        for one in list.as_array().into_iter().flatten().filter(|one| one["disabled"] != true) {
            let Some(name) = one["key"].as_str().or_else(|| one["id"].as_str()) else { continue };
            let text = match &one["value"] {
                Value::String(text) => text.clone(),
                Value::Null => continue,
                other => other.to_string(),
            };
            if text.is_empty() {
                continue;
            }
            if (one["type"] == "secret" || is_secret(name)) && !text.contains("{{") {
                draft.credentials.hide(name, &text);
                variables.values.insert(name.to_owned(), Value::Array(vec![text.into()]));
            } else {
                variables.values.insert(name.to_owned(), text.into());
            }
        }
        variables
    }

    /// The plain value of a variable of the collection that is neither a credential nor set by a script.
    pub fn plain(&self, name: &str) -> Option<&str> {
        if self.setters.contains_key(name) {
            return None;
        }
        let value = self.values.get(name)?.as_str()?;
        self.replaced.set(self.replaced.get() + value.len());
        (self.replaced.get() < MOST_REPLACED).then_some(value)
    }

    /// The text with plain variables of the collection replaced, and the others as they are.
    pub fn expanded(&self, text: &str) -> String {
        braces::expanded(text, |name| self.plain(name).map(str::to_owned))
    }

    /// The operation at this place sets a variable from its answer.
    pub fn set(&mut self, name: &str, place: usize, capture: Capture) {
        self.setters.insert(name.to_owned(), (place, value_name(name), capture));
    }

    /// The text as a template. With the key of a credential, what it says itself is hidden.
    pub fn text(&mut self, key: &str, text: &str, draft: &mut Draft) -> Text {
        self.resolved(key, text, is_secret(key), draft)
    }

    /// The same for a text that is a credential.
    pub fn credential(&mut self, key: &str, text: &str, draft: &mut Draft) -> Text {
        self.resolved(key, text, true, draft)
    }

    fn resolved(&mut self, key: &str, text: &str, hidden: bool, draft: &mut Draft) -> Text {
        let mut out = String::new();
        for piece in pieces(&self.expanded_unless(text, hidden)) {
            match piece {
                Piece::Literal(literal) => {
                    out.push_str(&literal_text(key, literal, hidden, &mut draft.credentials));
                }
                Piece::Variable(name) => out.push_str(&self.variable(name.trim(), hidden, draft)),
            }
        }
        Text::template(out)
    }

    /// A credential keeps its variables, so that each of their values is hidden by its name.
    fn expanded_unless(&self, text: &str, hidden: bool) -> String {
        if hidden { text.to_owned() } else { self.expanded(text) }
    }

    /// What stands for a variable.
    fn variable(&mut self, name: &str, hidden: bool, draft: &mut Draft) -> String {
        if let Some(dynamic) = name.strip_prefix('$') {
            return self.dynamic(dynamic, draft);
        }
        if let Some((place, short, capture)) = self.setters.get(name) {
            self.has_captures = true;
            let operation = &mut draft.operations[*place];
            let known = operation.captures.iter().find(|(_, one)| one == capture);
            let short = match known {
                Some((known, _)) => known.clone(),
                None => {
                    let mut free = short.clone();
                    while operation.captures.iter().any(|(one, _)| *one == free) {
                        free.push('_');
                    }
                    operation.captures.push((free.clone(), capture.clone()));
                    free
                }
            };
            return format!("{{{{{}.{short}}}}}", operation.name);
        }
        match self.values.get(name) {
            Some(Value::Array(secret)) => {
                let value = secret.first().and_then(Value::as_str).unwrap_or_default();
                draft.credentials.hide(name, value).as_str().to_owned()
            }
            Some(Value::String(value)) if hidden && !value.contains("{{") => {
                draft.credentials.hide(name, value).as_str().to_owned()
            }
            // Variables of variables are credentials of their own.
            Some(Value::String(value)) if hidden => {
                let expanded = self.expanded(value);
                let whole = expanded.contains("{{");
                match whole {
                    true => draft.credentials.variable(name).as_str().to_owned(),
                    false => draft.credentials.hide(name, &expanded).as_str().to_owned(),
                }
            }
            _ => draft.credentials.variable(name).as_str().to_owned(),
        }
    }

    /// A value that Postman makes.
    fn dynamic(&mut self, name: &str, draft: &mut Draft) -> String {
        let known = match name {
            "guid" | "randomUUID" => "{{uuid}}",
            "randomInt" => "{{random 0..1000}}",
            "randomAlphaNumeric" | "randomPassword" => "{{token}}",
            _ => "",
        };
        if !known.is_empty() {
            return known.to_owned();
        }
        let what =
            format!("{:?} has no counterpart: {{{{nonce}}}} stands for it", format!("${name}"));
        if draft.notes.iter().all(|note| note.what != what) {
            draft.note(None, what);
        }
        "{{nonce}}".to_owned()
    }
}

/// A literal part, hidden if it is a credential; words such as `Bearer` are none.
fn literal_text(key: &str, literal: &str, hidden: bool, credentials: &mut Credentials) -> String {
    let word = literal.trim();
    if !hidden || word.is_empty() || SCHEMES.contains(&word.to_ascii_lowercase().as_str()) {
        return Text::literal(literal).as_str().to_owned();
    }
    match word.split_once(' ') {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            format!("{scheme} {}", credentials.hide(key, rest.trim()).as_str())
        }
        _ => credentials.hide(key, literal).as_str().to_owned(),
    }
}
