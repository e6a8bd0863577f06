//! Variables of a source while a request is read: words that no address and no JSON changes stand for them.

use serde_json::Value;

use crate::braces;
use crate::draft::{Auth, Body, DraftOperation, Part};
use crate::text::Text;

/// Every mask begins with this.
const MARK: &str = "zqvariable";
/// Every mask ends with this.
const END: &str = "qz";
/// Where an operation goes whose host nobody knows.
pub(crate) const UNKNOWN: &str = "http://127.0.0.1:8080";

/// Placeholders and the words that stand for them.
#[derive(Debug, Default)]
pub(crate) struct Masks(Vec<String>);

/// Whether a mask stands in this text: it is no credential, whatever its name is.
pub(crate) fn is_masked(text: &str) -> bool {
    text.contains(MARK)
}

/// The text without its masks.
pub(crate) fn unmasked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        out.push_str(before);
        rest = after.split_once(END).map_or("", |(_, behind)| behind);
    }
    out + rest
}

impl Masks {
    /// The text with each `{{…}}` masked. `known` gives the placeholder for what stands between the braces; a variable
    /// without one stays as it is written.
    pub(crate) fn mask(
        &mut self,
        text: &str,
        mut known: impl FnMut(&str) -> Option<String>,
    ) -> String {
        braces::replaced(text, |name| {
            let placeholder = known(name)?;
            Some(self.stand_in(placeholder))
        })
    }

    /// The mask of a placeholder.
    pub(crate) fn stand_in(&mut self, placeholder: String) -> String {
        self.0.push(placeholder);
        format!("{MARK}{}{END}", self.0.len() - 1)
    }

    /// The text with the placeholders in their places.
    pub(crate) fn unmask(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(MARK) {
            let Some((number, behind)) = after.split_once(END) else { break };
            out.push_str(before);
            let placeholder = number.parse().ok().and_then(|number: usize| self.0.get(number));
            out.push_str(placeholder.map_or("", String::as_str));
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    fn text(&self, text: &mut Text) {
        if is_masked(text.as_str()) {
            *text = Text::template(self.unmask(text.as_str()));
        }
    }

    fn pairs(&self, pairs: &mut [(String, Text)]) {
        for (name, value) in pairs {
            *name = self.unmask(name);
            self.text(value);
        }
    }

    fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.unmask(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(entries) => {
                let unmasked = std::mem::take(entries).into_iter().map(|(key, mut value)| {
                    self.json(&mut value);
                    (self.unmask(&key), value)
                });
                *entries = unmasked.collect();
            }
            _ => {}
        }
    }

    /// Puts the placeholders back; the name of the host if that is one, which must be filled in.
    pub(crate) fn lift(&self, operation: &mut DraftOperation) -> Option<String> {
        operation.name = self.unmask(&operation.name).replace(['{', '}'], "");
        let host = is_masked(&operation.origin).then(|| {
            let origin = std::mem::replace(&mut operation.origin, UNKNOWN.to_owned());
            self.unmask(origin.split_once("://").map_or("", |(_, host)| host))
        });
        self.text(&mut operation.path);
        self.pairs(&mut operation.query);
        self.pairs(&mut operation.headers);
        match &mut operation.auth {
            None => {}
            Some(Auth::Bearer(token)) => self.text(token),
            Some(Auth::Basic(user, password)) => {
                self.text(user);
                self.text(password);
            }
        }
        match &mut operation.body {
            Body::Empty => {}
            Body::Text(text) => self.text(text),
            Body::File(file) => *file = self.unmask(file),
            Body::Json(value) => self.json(value),
            Body::Form(pairs) => self.pairs(pairs),
            Body::Multipart(parts) => {
                for (_, part) in parts {
                    match part {
                        Part::Text(text) => self.text(text),
                        Part::File(file, kind) => {
                            *file = self.unmask(file);
                            *kind = kind.take().map(|kind| self.unmask(&kind));
                        }
                    }
                }
            }
        }
        operation.expect.contains.iter_mut().for_each(|text| self.text(text));
        operation.expect.json.iter_mut().for_each(|(_, value)| self.json(value));
        host
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Credentials;
    use crate::request;

    #[test]
    fn variables_survive_addresses_and_bodies() {
        let mut masks = Masks::default();
        let mut credentials = Credentials::default();
        let known = |name: &str| (name != "b").then(|| format!("{{{{env.{name}}}}}"));
        let address = masks.mask("{{HOST}}/a/{{ID}}?q={{b}}&token={{T}}", known);
        let mut operation = request::to(&address, &mut credentials).unwrap();
        request::add_header(&mut operation, "content-type", "application/json", &mut credentials);
        let body = masks.mask("{\"password\": \"x{{P}}\"}", known);
        request::set_body(&mut operation, &body, &mut credentials);
        assert_eq!(masks.lift(&mut operation), Some("{{env.HOST}}".to_owned()));
        assert_eq!(
            (operation.origin.as_str(), operation.path.as_str()),
            (UNKNOWN, "/a/{{env.ID}}")
        );
        let query = [
            ("q".to_owned(), Text::literal("{{b}}")),
            ("token".to_owned(), Text::template("{{env.T}}")),
        ];
        assert_eq!(operation.query, query);
        assert_eq!(operation.body, Body::Json(serde_json::json!({ "password": "x{{env.P}}" })));
        assert_eq!(credentials.names().count(), 0);
    }
}
