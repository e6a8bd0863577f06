//! Values of TOML on one line.

use std::collections::HashMap;

use plan::toml_text::{key, text};
use serde_json::Value;

use crate::draft::{Auth, Body, DraftOperation, Part};
use crate::text::Text;

/// A text with its quotes that has no placeholders: two braces are kept apart.
pub(crate) fn fixed(plain: &str) -> String {
    let mut apart = String::new();
    for letter in plain.chars() {
        if letter == '{' && apart.ends_with('{') {
            apart.push(' ');
        }
        apart.push(letter);
    }
    text(&apart)
}

/// JSON without null.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::String(string) => text(string),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(json).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let mut inline = Inline::default();
            entries.iter().for_each(|(name, value)| inline.entry(name, json(value)));
            inline.end()
        }
        other => other.to_string(),
    }
}

/// An inline table.
#[derive(Default)]
pub(crate) struct Inline(Vec<String>);

impl Inline {
    pub(crate) fn entry(&mut self, name: &str, value: String) {
        self.0.push(format!("{} = {value}", key(name)));
    }

    pub(crate) fn list(&mut self, name: &str, values: impl Iterator<Item = String>) {
        self.entry(name, format!("[{}]", values.collect::<Vec<_>>().join(", ")));
    }

    /// Nothing, the value, or a list of them.
    pub(crate) fn one_or_more(&mut self, name: &str, mut values: Vec<String>) {
        match values.len() {
            0 => {}
            1 => self.entry(name, values.remove(0)),
            _ => self.list(name, values.into_iter()),
        }
    }

    /// Names and values; a name that comes several times has a list.
    fn pairs(&mut self, name: &str, pairs: &[(String, Text)]) {
        if pairs.is_empty() {
            return;
        }
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut grouped: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, value) in pairs {
            let place = *places.entry(name).or_insert(grouped.len());
            if place == grouped.len() {
                grouped.push((name, Vec::new()));
            }
            grouped[place].1.push(text(value.as_str()));
        }
        let mut inline = Self::default();
        grouped.into_iter().for_each(|(name, values)| inline.one_or_more(name, values));
        self.entry(name, inline.end());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn end(self) -> String {
        match self.0.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", self.0.join(", ")),
        }
    }
}

/// The table of a request.
pub(crate) fn http(operation: &DraftOperation) -> String {
    let mut table = Inline::default();
    let has_body = operation.body != Body::Empty;
    let usual = if has_body { "POST" } else { "GET" };
    if !operation.method.is_empty() && operation.method != usual {
        table.entry("method", fixed(&operation.method));
    }
    if operation.targets.is_none() {
        table.entry("path", text(operation.path.as_str()));
    }
    table.pairs("query", &operation.query);
    table.pairs("header", &operation.headers);
    match &operation.auth {
        None => {}
        Some(Auth::Bearer(token)) => {
            table.entry("auth", format!("{{ bearer = {} }}", text(token.as_str())));
        }
        Some(Auth::Basic(user, password)) => {
            let (user, password) = (text(user.as_str()), text(password.as_str()));
            table
                .entry("auth", format!("{{ basic = {{ user = {user}, password = {password} }} }}"));
        }
    }
    body(&operation.body, &mut table);
    if operation.follow > 0 {
        table.entry("follow", operation.follow.to_string());
    }
    table.end()
}

fn body(body: &Body, table: &mut Inline) {
    match body {
        Body::Empty => {}
        Body::Text(content) => table.entry("body", text(content.as_str())),
        Body::File(file) => table.entry("body_file", fixed(file)),
        Body::Json(value) => table.entry("json", json(value)),
        Body::Form(pairs) => table.pairs("form", pairs),
        Body::Multipart(parts) => {
            let mut inline = Inline::default();
            for (name, part) in parts {
                inline.entry(
                    name,
                    match part {
                        Part::Text(content) => text(content.as_str()),
                        Part::File(file, kind) => {
                            let mut one = Inline::default();
                            one.entry("file", fixed(file));
                            if let Some(kind) = kind {
                                one.entry("type", fixed(kind));
                            }
                            one.end()
                        }
                    },
                );
            }
            table.entry("multipart", inline.end());
        }
    }
}
