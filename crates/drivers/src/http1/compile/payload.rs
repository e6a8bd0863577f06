//! The body of a request: `body` (text) or `json` (a value, templates in its texts).

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader, Value};
use plan::rows::Rows;
use plan::template::Template;

use crate::http1::request::{Payload, Segment, json_text};
use crate::table::template;

/// A body, if there is one, and whether it calls for `content-type: application/json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyContent {
    /// The body.
    pub payload: Option<Payload>,
    /// Whether it came from `json`.
    pub is_json: bool,
}

/// Reads `body` or `json`.
pub fn read(reader: &mut Reader<'_>, rows: Option<&Rows>) -> BodyContent {
    let text = reader.string("body");
    let json = reader.node("json");
    if let (Some((_, span)), Some(_)) = (text, json) {
        let what = "an operation has either `body` or `json`";
        reader.problem(Diagnostic::new(span, what, "remove this or `json`"));
    }
    let mut body = Parts::default();
    match (text, json) {
        (Some((text, span)), _) => {
            if let Some(template) = template(reader, text, span, rows) {
                body.template(template, Segment::Text, |literal, out| {
                    out.extend_from_slice(literal);
                });
            }
        }
        (None, Some(node)) => json_node(reader, node, rows, &mut body),
        (None, None) => return BodyContent::default(),
    }
    BodyContent { payload: Some(body.payload()), is_json: json.is_some() }
}

fn json_node(reader: &mut Reader<'_>, node: &Node, rows: Option<&Rows>, body: &mut Parts) {
    match &node.value {
        Value::String(text) => {
            body.literal(b"\"");
            if let Some(template) = template(reader, text, node.span, rows) {
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
                json_node(reader, node, rows, body);
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
                json_node(reader, &entry.node, rows, body);
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
struct Parts(Vec<Segment>);

impl Parts {
    fn literal(&mut self, bytes: &[u8]) {
        self.text().extend_from_slice(bytes);
    }

    fn comma(&mut self, place: usize) {
        if place > 0 {
            self.literal(b",");
        }
    }

    /// The literal part at the end.
    fn text(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0.last(), Some(Segment::Literal(_))) {
            self.0.push(Segment::Literal(Vec::new()));
        }
        match self.0.last_mut() {
            Some(Segment::Literal(bytes)) => bytes,
            _ => unreachable!("a literal part was just put there"),
        }
    }

    fn template(
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

    fn payload(self) -> Payload {
        match self.0.as_slice() {
            [] => Payload::Literal([].into()),
            [Segment::Literal(bytes)] => Payload::Literal(bytes.as_slice().into()),
            _ => Payload::Segments(self.0),
        }
    }
}
