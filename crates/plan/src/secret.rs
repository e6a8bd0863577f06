//! Values that came from the environment: used in the run, never written anywhere.
//!
//! Redaction works on what is about to be written, by value: so it also covers what a value was
//! made part of, and what a target echoes. In its place stands what the file says,
//! `{{env.NAME}}`.

use std::fmt;

use serde_json::Value as Json;

/// Shorter values are redacted only where they are the whole text, since they may be part of
/// anything.
const SHORTEST: usize = 4;

/// Header fields whose value lets somebody in.
const AUTHORISING: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

/// Whether the value of this header field is kept out of everything written.
pub fn is_authorising(header: &str) -> bool {
    AUTHORISING.iter().any(|known| header.eq_ignore_ascii_case(known))
}

/// The variable of the environment that stands for a header's value in what is shown.
pub(crate) fn variable(header: &str) -> String {
    header.to_ascii_uppercase().replace('-', "_")
}

/// All values that came from the environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Whole texts that hold a secret, and the text to write instead; longest first.
    texts: Vec<(String, String)>,
    /// Names and values, longest first.
    values: Vec<(String, String)>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Secrets {
    /// Notes a variable; also as messages and files write it, with escapes.
    pub(crate) fn add_value(&mut self, name: &str, value: &str) {
        let written = format!("{{{{env.{name}}}}}");
        add(&mut self.values, value, written.clone());
        add(&mut self.values, &value.escape_debug().to_string(), written.clone());
        let quoted = Json::from(value).to_string();
        add(&mut self.values, &quoted[1..quoted.len() - 1], written);
    }

    /// Notes a text that was made of variables, or of the place of the file, and how it is written there.
    pub(crate) fn add_text(&mut self, text: &str, written: &str) {
        add(&mut self.texts, text, written.to_owned());
    }

    /// Placeholders of the variables in use.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.values.iter().map(|(_, name)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        if let Some((_, written)) = self.texts.iter().find(|(secret, _)| secret == text) {
            return written.clone();
        }
        let mut text = text.to_owned();
        for (secret, written) in self.values.iter().filter(|(secret, _)| secret.len() >= SHORTEST) {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), written);
            }
        }
        text
    }

    /// The value with every text in it redacted; keys stay.
    pub fn redact_json(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.redact(&text)),
            Json::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Json::Object(map) => {
                map.into_iter().map(|(key, item)| (key, self.redact_json(item))).collect()
            }
            other => other,
        }
    }
}

/// Adds once, keeping the longest first: a secret may hold another.
fn add(list: &mut Vec<(String, String)>, secret: &str, written: String) {
    if !secret.is_empty() && !list.iter().any(|(known, _)| known == secret) {
        list.push((secret.to_owned(), written));
        list.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_wherever_they_stand() {
        let mut secrets = Secrets::default();
        secrets.add_value("TOKEN", "s3cr3t");
        secrets.add_value("LONG", "s3cr3t-and-more");
        secrets.add_value("N", "7");
        secrets.add_text("7", "{{env.N}}");
        assert_eq!(secrets.redact("Bearer s3cr3t"), "Bearer {{env.TOKEN}}");
        assert_eq!(secrets.redact("s3cr3t-and-more"), "{{env.LONG}}");
        assert_eq!(secrets.redact("7"), "{{env.N}}");
        assert_eq!(secrets.redact("77 things"), "77 things");
        let json = serde_json::json!({"a": ["x s3cr3t"], "n": 7});
        let redacted = serde_json::json!({"a": ["x {{env.TOKEN}}"], "n": 7});
        assert_eq!(secrets.redact_json(json), redacted);
        assert!(!format!("{secrets:?}").contains("s3cr3t"));
    }
}
