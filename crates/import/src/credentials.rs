//! Credentials in what is imported, and the variables that stand for them.

use std::collections::{BTreeSet, HashMap};

use plan::secret::is_authorising;

use crate::masks::{is_masked, unmasked};
use crate::scan::{self, Found};
use crate::text::Text;

/// Parts of names whose values are credentials, without `-` and `_`, in small letters.
const SECRET: [&str; 15] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "sessionid",
    "authorization",
    "subscriptionkey",
    "signature",
    "xauth",
];
/// Names that are credentials only if they are the whole name.
const SECRET_ALONE: [&str; 6] = ["auth", "pass", "key", "sid", "jwt", "sig"];
/// Names that look like credentials and are none: what a page gives everybody, and kinds of credentials.
const OPEN: [&str; 6] =
    ["csrf", "xsrf", "tokentype", "granttype", "requesttoken", "verificationtoken"];

/// Variables that a shell or a system sets to something else.
const SET_BY_SYSTEMS: [&str; 12] = [
    "USER", "USERNAME", "LOGNAME", "PATH", "HOME", "HOST", "HOSTNAME", "SHELL", "PWD", "LANG",
    "TERM", "TMPDIR",
];

/// Variables and the values that they stand for.
#[derive(Default)]
pub struct Credentials {
    variables: Vec<Variable>,
    /// The places of variables by their values.
    values: HashMap<String, usize>,
    /// Every name that is taken, with the number of the last one like it.
    numbers: HashMap<String, u32>,
    /// The places of variables by the first bytes of their values, for [`redact`](Self::redact).
    starts: HashMap<Vec<u8>, Vec<usize>>,
    /// Values that have a placeholder already, such as captured ones.
    known: HashMap<String, Text>,
    /// Values that are credentials under any name.
    guarded: BTreeSet<String>,
}

struct Variable {
    name: String,
    /// The name that was wished for.
    base: String,
    /// `None` if the source only says that there is one.
    value: Option<String>,
}

// Values are in no output for debugging either.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Credentials {
    /// From now on these values have these placeholders, under any name, and no variable.
    pub fn set_known(&mut self, known: HashMap<String, Text>) {
        self.known = known;
    }

    /// From now on these values are credentials under any name.
    pub fn guard(&mut self, values: impl IntoIterator<Item = String>) {
        self.guarded.extend(values);
    }

    /// The text with the values replaced that are credentials under any name, as far as they do not occur by chance.
    pub fn hide_guarded(&mut self, key: &str, text: &str) -> String {
        let is_within = |value: &&String| is_random(value) && text.contains(value.as_str());
        let mut values: Vec<String> = self.guarded.iter().filter(is_within).cloned().collect();
        // A value may be a part of another one.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.into_iter().fold(text.to_owned(), |text, value| {
            // A longer value may have gone with it.
            if !text.contains(&value) {
                return text;
            }
            let placeholder = self.hide(key, &value);
            text.replace(&value, placeholder.as_str())
        })
    }

    /// The placeholder of a variable for this value; the same for the same value.
    pub fn hide(&mut self, key: &str, value: &str) -> Text {
        if is_masked(value) && unmasked(value).len() < SHORTEST {
            return Text::literal(value);
        }
        if let Some(placeholder) = self.known.get(value) {
            return placeholder.clone();
        }
        if let Some(known) = self.values.get(value) {
            return placeholder(&self.variables[*known].name);
        }
        self.add(key, Some(value))
    }

    /// The placeholder of a variable whose value the source does not have; the same for the same key.
    pub fn variable(&mut self, key: &str) -> Text {
        let base = variable(key);
        match self.variables.iter().find(|one| one.value.is_none() && one.base == base) {
            Some(known) => placeholder(&known.name),
            None => self.add(key, None),
        }
    }

    fn add(&mut self, key: &str, value: Option<&str>) -> Text {
        let base = variable(key);
        let mut number = self.numbers.get(&base).copied().unwrap_or(1);
        let mut name = base.clone();
        while self.numbers.contains_key(&name) {
            number += 1;
            name = format!("{base}_{number}");
        }
        self.numbers.insert(name.clone(), 1);
        if name != base {
            self.numbers.insert(base.clone(), number);
        }
        if let Some(value) = value {
            self.values.insert(value.to_owned(), self.variables.len());
        }
        if let Some(start) = value.and_then(|value| value.as_bytes().get(..SHORTEST)) {
            self.starts.entry(start.to_owned()).or_default().push(self.variables.len());
        }
        self.variables.push(Variable { name: name.clone(), base, value: value.map(str::to_owned) });
        placeholder(&name)
    }

    /// The value as a text, or its placeholder if the name says that it is a credential.
    pub fn text(&mut self, key: &str, value: &str) -> Text {
        if let Some(placeholder) = self.known.get(value) {
            return placeholder.clone();
        }
        match (is_secret(key) && !value.is_empty()) || self.guarded.contains(value) {
            true => self.hide(key, value),
            false => Text::template(self.hide_guarded(key, Text::literal(value).as_str())),
        }
    }

    /// The same for every text in a value of JSON, by its key.
    pub fn json(&mut self, key: &str, value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.text(key, &text).as_str().to_owned()),
            Value::Number(number) if is_secret(key) => {
                Value::String(self.hide(key, &number.to_string()).as_str().to_owned())
            }
            Value::Array(values) => values.into_iter().map(|one| self.json(key, one)).collect(),
            Value::Object(entries) => {
                let hidden = |(key, value): (String, Value)| {
                    let value = self.json(&key, value);
                    (key, value)
                };
                entries.into_iter().map(hidden).collect()
            }
            other => other,
        }
    }

    /// The names of all variables, in order of appearance.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|one| one.name.as_str())
    }

    /// A text of any form, without the credentials in it that their names tell, and without those that are known.
    pub fn hidden(&mut self, text: &str) -> Text {
        let (mut out, mut kept) = (String::new(), 0);
        for Found { key, at } in scan::values(text) {
            let placeholder = self.hide(key, &text[at.clone()]);
            out.push_str(&self.redacted(&text[kept..at.start], escaped));
            out.push_str(placeholder.as_str());
            kept = at.end;
        }
        out.push_str(&self.redacted(&text[kept..], escaped));
        Text::template(out)
    }

    /// The text with every value that was hidden replaced by its placeholder.
    pub fn redact(&self, text: &str) -> String {
        self.redacted(text, str::to_owned)
    }

    /// The same; `other` writes what is no such value.
    fn redacted(&self, text: &str, other: impl Fn(&str) -> String) -> String {
        let bytes = text.as_bytes();
        let (mut out, mut kept, mut at) = (String::new(), 0, 0);
        while let Some(start) = bytes.get(at..at + SHORTEST).filter(|_| !self.starts.is_empty()) {
            let places = self.starts.get(start).into_iter().flatten();
            let values = places.map(|place| &self.variables[*place]).filter_map(|one| {
                let value = one.value.as_deref()?;
                bytes[at..].starts_with(value.as_bytes()).then_some((value.len(), &one.name))
            });
            match values.max_by_key(|(length, _)| *length) {
                None => at += 1,
                Some((length, name)) => {
                    out.push_str(&other(&text[kept..at]));
                    out.push_str(placeholder(name).as_str());
                    at += length;
                    kept = at;
                }
            }
        }
        out + &other(&text[kept..])
    }
}

/// A text that means itself.
fn escaped(text: &str) -> String {
    Text::literal(text).as_str().to_owned()
}

/// Shorter values occur in a text by chance.
const SHORTEST: usize = 6;

fn placeholder(name: &str) -> Text {
    Text::template(format!("{{{{env.{name}}}}}"))
}

/// Whether a value is no word that a person would choose, such as a language.
pub fn is_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.len() >= 20
        || (value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

/// Whether the value of a header field, a parameter or a key with this name is a credential.
pub fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let holds = |parts: &[&str]| parts.iter().any(|part| plain.contains(part));
    is_authorising(name)
        || (holds(&SECRET) && !holds(&OPEN))
        || SECRET_ALONE.contains(&plain.as_str())
}

/// The placeholder of a variable of the environment that the source names.
pub(crate) fn environment(name: &str) -> String {
    let name = name.trim().trim_matches(['"', '%']);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match is_name {
        true => format!("{{{{env.{name}}}}}"),
        false => format!("{{{{env.{}}}}}", variable(name)),
    }
}

/// The name of a variable for this key.
pub(crate) fn variable(key: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = key.chars().map(letter).collect();
    let name = name.trim_matches('_');
    if SET_BY_SYSTEMS.contains(&name) {
        return format!("API_{name}");
    }
    match name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        true => format!("SECRET_{name}").trim_end_matches('_').to_owned(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told_by_their_names() {
        for name in
            ["Authorization", "x-api-key", "client_secret", "newPassword", "access_token", "sid"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["csrfmiddlewaretoken", "token_type", "grant_type", "author", "monkey", "side", "q"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_value_has_one_variable_and_a_variable_one_value() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.text("password", "abc").as_str(), "{{env.PASSWORD}}");
        assert_eq!(credentials.text("confirm-password", "abc").as_str(), "{{env.PASSWORD}}");
        assert_eq!(credentials.text("password", "other").as_str(), "{{env.PASSWORD_2}}");
        assert_eq!(credentials.text("q", "a{{b").as_str(), "a{{{{b");
        assert_eq!(credentials.text("token", "").as_str(), "");
        let json = credentials.json("", serde_json::json!({ "a": ["x"], "pin": 1, "secret": 5 }));
        assert_eq!(json, serde_json::json!({ "a": ["x"], "pin": 1, "secret": "{{env.SECRET}}" }));
        assert_eq!(credentials.names().collect::<Vec<_>>(), ["PASSWORD", "PASSWORD_2", "SECRET"]);
    }

    #[test]
    fn a_variable_without_a_value_is_not_one_with() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.hide("token", "abcdef").as_str(), "{{env.TOKEN}}");
        assert_eq!(credentials.variable("token").as_str(), "{{env.TOKEN_2}}");
        assert_eq!(credentials.variable("Token").as_str(), "{{env.TOKEN_2}}");
        assert_eq!(credentials.variable("path").as_str(), "{{env.API_PATH}}");
        assert_eq!(credentials.hide("token", "abcdefgh").as_str(), "{{env.TOKEN_3}}");
        let redacted = credentials.redact("é abcdefgh abcdef abcde");
        assert_eq!(redacted, "é {{env.TOKEN_3}} {{env.TOKEN}} abcde");
    }
}
