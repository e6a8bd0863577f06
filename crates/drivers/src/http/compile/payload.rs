//! The body of a request: `body` (text), `json` (a value, templates in its texts), `form` or `multipart`.

use plan::diagnostic::Diagnostic;
use plan::document::{Entry, Node, Reader, Value};
use plan::template::{Scope, Template};

use super::multipart;
use crate::http::encoding::{form_text, json_text};
use crate::http::request::{Payload, Segment};
use crate::table::{template, values};

/// Keys that say what the body is.
const KEYS: [&str; 4] = ["body", "json", "form", "multipart"];

/// A body, if there is one, and what it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyContent {
    /// The body.
    pub payload: Option<Payload>,
    /// Its `content-type`, unless the experiment sets another.
    pub content_type: Option<String>,
}

/// Reads the one key that says what the body is.
pub fn read(reader: &mut Reader<'_>, scope: Scope<'_>) -> BodyContent {
    let entries: Vec<&Entry> = KEYS.iter().filter_map(|key| reader.entry(key)).collect();
    if let [first, second, ..] = entries.as_slice() {
        let what = format!("an operation has either `{}` or `{}`", first.key, second.key);
        let label = format!("remove this or `{}`", second.key);
        reader.problem(Diagnostic::new(first.node.span, what, label));
    }
    let mut body = Parts::default();
    let content_type = match entries.first() {
        Some(entry) => content(reader, entry, scope, &mut body),
        None => return BodyContent::default(),
    };
    BodyContent { payload: Some(body.payload()), content_type }
}

/// Appends what this entry makes of the body.
///
/// Shape:  → its type, if it has one
fn content(
    reader: &mut Reader<'_>,
    entry: &Entry,
    scope: Scope<'_>,
    body: &mut Parts,
) -> Option<String> {
    match (entry.key.as_str(), &entry.node.value) {
        ("json", _) => {
            json_node(reader, &entry.node, scope, body);
            Some("application/json".to_owned())
        }
        ("form", Value::Table(table)) => {
            form(values(reader, table, scope), body);
            Some("application/x-www-form-urlencoded".to_owned())
        }
        ("multipart", Value::Table(table)) => Some(multipart::read(reader, table, scope, body)),
        ("body", Value::String(text)) => {
            if let Some(template) = template(reader, text, entry.node.span, scope) {
                body.template(template, Segment::Text, |literal, out| {
                    out.extend_from_slice(literal);
                });
            }
            None
        }
        (key, _) => {
            let expected = if key == "body" { "text" } else { "a table" };
            reader.problem(entry.node.unlike(expected));
            None
        }
    }
}

fn form(values: Vec<(&str, Template)>, body: &mut Parts) {
    for (place, (name, template)) in values.into_iter().enumerate() {
        if place > 0 {
            body.literal(b"&");
        }
        form_text(name.as_bytes(), body.text());
        body.literal(b"=");
        body.template(template, Segment::Form, form_text);
    }
}

/// Appends this value as JSON, templates in its texts.
pub(crate) fn json_node(reader: &mut Reader<'_>, node: &Node, scope: Scope<'_>, body: &mut Parts) {
    match &node.value {
        Value::String(text) => {
            body.literal(b"\"");
            if let Some(template) = template(reader, text, node.span, scope) {
                body.template(template, Segment::Json, json_text);
            }
            body.literal(b"\"");
        }
        Value::Float(number) if !number.is_finite() => {
            let what = format!("{number} does not exist in JSON");
            reader.problem(Diagnostic::new(node.span, what, "expected a finite number"));
        }
        Value::Array(nodes) => {
            body.literal(b"[");
            for (place, node) in nodes.iter().enumerate() {
                body.comma(place);
                json_node(reader, node, scope, body);
            }
            body.literal(b"]");
        }
        Value::Table(table) => {
            body.literal(b"{");
            for (place, entry) in table.entries.iter().enumerate() {
                body.comma(place);
                body.literal(b"\"");
                json_text(entry.key.as_bytes(), body.text());
                body.literal(b"\":");
                json_node(reader, &entry.node, scope, body);
            }
            body.literal(b"}");
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => {
            body.literal(node.to_json().to_string().as_bytes());
        }
    }
}

/// A body in the making, literal parts joined.
#[derive(Default)]
pub(crate) struct Parts(Vec<Segment>);

impl Parts {
    pub(crate) fn literal(&mut self, bytes: &[u8]) {
        self.text().extend_from_slice(bytes);
    }

    pub(crate) fn comma(&mut self, place: usize) {
        if place > 0 {
            self.literal(b",");
        }
    }

    /// The literal part at the end.
    pub(crate) fn text(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0.last(), Some(Segment::Literal(_))) {
            self.0.push(Segment::Literal(Vec::new()));
        }
        match self.0.last_mut() {
            Some(Segment::Literal(bytes)) => bytes,
            _ => unreachable!("a literal part was just put there"),
        }
    }

    pub(crate) fn template(
        &mut self,
        template: Template,
        segment: fn(Template) -> Segment,
        append: impl Fn(&[u8], &mut Vec<u8>),
    ) {
        match template.literal() {
            Some(literal) => append(literal.as_bytes(), self.text()),
            None => self.0.push(segment(template)),
        }
    }

    pub(crate) fn payload(self) -> Payload {
        match self.0.as_slice() {
            [] => Payload::Literal([].into()),
            [Segment::Literal(bytes)] => Payload::Literal(bytes.as_slice().into()),
            _ => Payload::Segments(self.0),
        }
    }
}
