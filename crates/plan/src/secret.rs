//! Values from the environment: used in the run, never written anywhere.
//!
//! Redaction works by value on the text to be written. So it also covers texts that contain a value, and values that a
//! target echoes, encoded or truncated. The text gets the placeholder from the file instead, `{{env.NAME}}`.

mod forms;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

/// Shorter values are redacted only if they are the whole text, because they may occur by chance.
const SHORTEST: usize = 4;
/// Marks where a text was truncated.
const CUT: &str = "…";

/// Header fields that contain credentials.
const AUTHORISING: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

/// Whether the value of this header field must be kept out of all output.
pub fn is_authorising(header: &str) -> bool {
    AUTHORISING.iter().any(|known| header.eq_ignore_ascii_case(known))
}

/// The variable that replaces a header's value in output.
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
    /// Adds a variable, in every form in which its value may appear.
    pub(crate) fn add_value(&mut self, name: &str, value: &str) {
        let written = format!("{{{{env.{name}}}}}");
        for form in forms::of(value) {
            add(&mut self.values, &form, written.clone());
        }
    }

    /// Adds the value of a header with credentials, and the parts of it that may appear alone: the credentials without
    /// their scheme, a user's password, the value of a cookie.
    pub(crate) fn add_header(&mut self, name: &str, value: &str) {
        let variable = variable(name);
        self.add_value(&variable, value);
        if name.eq_ignore_ascii_case("cookie") {
            let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
            cookies.for_each(|(_, value)| self.add_value(&variable, value.trim()));
            return;
        }
        let Some((scheme, credentials)) = value.split_once(' ') else { return };
        self.add_value(&variable, credentials.trim());
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(bytes) = STANDARD.decode(credentials.trim())
            && let Ok(pair) = String::from_utf8(bytes)
        {
            let password = pair.split_once(':').map(|(_, password)| password);
            password.iter().for_each(|password| self.add_value(&variable, password));
            self.add_value(&variable, &pair);
        }
    }

    /// Adds a text that contains variables or the folder of the file, and its form in the file.
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

    /// The text with secrets redacted.
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
        self.without_beginnings(text)
    }

    /// Redacts beginnings of secrets where the text was truncated.
    fn without_beginnings(&self, text: String) -> String {
        if self.values.is_empty() || !text.contains(CUT) {
            return text;
        }
        let mut pieces: Vec<String> = text.split(CUT).map(str::to_owned).collect();
        let last = pieces.len() - 1;
        for piece in &mut pieces[..last] {
            let shown = piece.trim_end().len();
            let found = self
                .values
                .iter()
                .find_map(|(secret, written)| Some((beginning(secret, &piece[..shown])?, written)));
            if let Some((length, written)) = found {
                piece.replace_range(shown - length..shown, written);
            }
        }
        pieces.join(CUT)
    }

    /// The value with every text in it redacted; keys are kept.
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

/// Length of the secret's beginning at the end of the text, if it is long enough.
fn beginning(secret: &str, text: &str) -> Option<usize> {
    let ends = secret.char_indices().map(|(at, _)| at).rev();
    ends.take_while(|&at| at >= SHORTEST).find(|&at| text.ends_with(&secret[..at]))
}

/// Adds an entry once, longest first: a secret may contain another.
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

    #[test]
    fn a_secret_that_was_cut_off_is_hidden_too() {
        let mut secrets = Secrets::default();
        secrets.add_value("TOKEN", "s3cr3t-0f-ours");
        assert_eq!(secrets.redact("got s3cr3t-0f… (90 bytes)"), "got {{env.TOKEN}}… (90 bytes)");
        assert_eq!(secrets.redact("535 no s3cr …"), "535 no {{env.TOKEN}} …");
        assert_eq!(secrets.redact("s3c… and s3cr3t go on"), "s3c… and s3cr3t go on");
        assert_eq!(secrets.redact("a…b…"), "a…b…");
    }

    #[test]
    fn what_a_header_holds_is_hidden_by_itself() {
        let mut secrets = Secrets::default();
        secrets.add_header("authorization", "Basic YWRhOnBhNTUtdzByZA==");
        for (text, hidden) in [
            ("Basic YWRhOnBhNTUtdzByZA==", "{{env.AUTHORIZATION}}"),
            ("no YWRhOnBhNTUtdzByZA==", "no {{env.AUTHORIZATION}}"),
            ("ada may not: pa55-w0rd", "ada may not: {{env.AUTHORIZATION}}"),
        ] {
            assert_eq!(secrets.redact(text), hidden);
        }
        let mut secrets = Secrets::default();
        secrets.add_header("Cookie", "theme=dark; sid=0123456789");
        assert_eq!(secrets.redact("unknown 0123456789"), "unknown {{env.COOKIE}}");
    }
}
