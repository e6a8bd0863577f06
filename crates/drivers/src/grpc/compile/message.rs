//! A message as the file writes it, held against its descriptor, every problem at its place.

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader, Table, Value};
use plan::template::{Scope, Template};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Value as Json, json};

use crate::http::compile::payload::{Parts, json_node};
use crate::http::encoding::json_text;
use crate::http::request::{Payload, Segment};
use crate::table::template;

/// Messages that JSON writes in a form of their own.
const OWN_FORMS: &str = "google.protobuf.";

/// The JSON text of a message, adding to the reader's problems.
pub fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    descriptor: &MessageDescriptor,
    scope: Scope<'_>,
) -> Payload {
    let mut draft = Draft { reader, scope, parts: Parts::default() };
    draft.message(node, descriptor);
    draft.parts.payload()
}

struct Draft<'r, 'd> {
    reader: &'r mut Reader<'d>,
    scope: Scope<'r>,
    parts: Parts,
}

impl Draft<'_, '_> {
    fn message(&mut self, node: &Node, descriptor: &MessageDescriptor) {
        // Any, Timestamp, Struct and their like are held against the descriptor as a whole.
        if descriptor.full_name().starts_with(OWN_FORMS) {
            return json_node(self.reader, node, self.scope, &mut self.parts);
        }
        let Value::Table(table) = &node.value else {
            let expected = format!("a table, the fields of {}", descriptor.full_name());
            return self.reader.problem(node.unlike(&expected));
        };
        self.parts.literal(b"{");
        let mut written = 0;
        for entry in &table.entries {
            let field = descriptor.get_field_by_json_name(&entry.key);
            let Some(field) = field.or_else(|| descriptor.get_field_by_name(&entry.key)) else {
                let fields: Vec<_> = descriptor.fields().collect();
                let known = fields.iter().map(|field| field.name());
                let problem = Diagnostic::unknown("field", &entry.key, entry.key_span, known);
                self.reader.problem(problem);
                continue;
            };
            self.key(written, field.json_name());
            self.field(&entry.node, &field);
            written += 1;
        }
        self.parts.literal(b"}");
        self.check_oneofs(table, descriptor);
    }

    fn key(&mut self, place: usize, key: &str) {
        self.parts.comma(place);
        self.parts.literal(b"\"");
        json_text(key.as_bytes(), self.parts.text());
        self.parts.literal(b"\":");
    }

    /// A field is set once, and of a `oneof` one field.
    fn check_oneofs(&mut self, table: &Table, descriptor: &MessageDescriptor) {
        let find = |key: &str| {
            let field = descriptor.get_field_by_json_name(key);
            field.or_else(|| descriptor.get_field_by_name(key))
        };
        let mut seen: Vec<FieldDescriptor> = Vec::new();
        for entry in &table.entries {
            let Some(field) = find(&entry.key) else { continue };
            let of = field.containing_oneof();
            let other = seen
                .iter()
                .find(|other| **other == field || (of.is_some() && other.containing_oneof() == of));
            if let Some(other) = other {
                let what = match &of {
                    Some(of) if *other != field => {
                        format!(
                            "`{}` and `{}` exclude each other (oneof {})",
                            other.name(),
                            field.name(),
                            of.name()
                        )
                    }
                    _ => format!("field `{}` is set twice", field.name()),
                };
                self.reader.problem(Diagnostic::new(entry.key_span, what, "remove one of them"));
            }
            seen.push(field);
        }
    }

    fn field(&mut self, node: &Node, field: &FieldDescriptor) {
        if let Kind::Message(entry) = field.kind()
            && field.is_map()
        {
            let Value::Table(table) = &node.value else {
                return self.reader.problem(node.unlike("a table of keys and values"));
            };
            self.parts.literal(b"{");
            for (place, pair) in table.entries.iter().enumerate() {
                self.key(place, &pair.key);
                let of = |value: Json| json!({ field.json_name(): { pair.key.as_str(): value } });
                self.value(&pair.node, field, &entry.map_entry_value_field().kind(), &of);
            }
            return self.parts.literal(b"}");
        }
        if field.is_list() {
            let Value::Array(nodes) = &node.value else {
                let expected = format!("a list, as `{}` is repeated", field.name());
                return self.reader.problem(node.unlike(&expected));
            };
            self.parts.literal(b"[");
            for (place, node) in nodes.iter().enumerate() {
                self.parts.comma(place);
                self.value(
                    node,
                    field,
                    &field.kind(),
                    &|value| json!({ field.json_name(): [value] }),
                );
            }
            return self.parts.literal(b"]");
        }
        self.value(node, field, &field.kind(), &|value| json!({ field.json_name(): value }));
    }

    /// One value. `of`: the JSON of a message that has it alone.
    fn value(
        &mut self,
        node: &Node,
        field: &FieldDescriptor,
        kind: &Kind,
        of: &dyn Fn(Json) -> Json,
    ) {
        match (kind, &node.value) {
            (Kind::Message(message), _) if !message.full_name().starts_with(OWN_FORMS) => {
                return self.message(node, message);
            }
            (Kind::Message(_), _) => json_node(self.reader, node, self.scope, &mut self.parts),
            (kind, Value::String(text)) => {
                let Some(template) = template(self.reader, text, node.span, self.scope) else {
                    return;
                };
                // A truth value in quotes is none to JSON.
                let quote: &[u8] = match template.literal().is_none() && *kind == Kind::Bool {
                    true => b"",
                    false => b"\"",
                };
                self.parts.literal(quote);
                self.parts.template(template, Segment::Json, json_text);
                self.parts.literal(quote);
            }
            _ => json_node(self.reader, node, self.scope, &mut self.parts),
        }
        self.check(node, field, kind, of);
    }

    /// Whether a value without placeholders fits its field.
    fn check(
        &mut self,
        node: &Node,
        field: &FieldDescriptor,
        kind: &Kind,
        of: &dyn Fn(Json) -> Json,
    ) {
        let Some(value) = fixed(node) else { return };
        let parent = field.parent_message().clone();
        if let Err(error) = DynamicMessage::deserialize(parent, of(value)) {
            let what = format!("field `{}`: {error}", field.name());
            let label = format!("expected {kind:?}");
            self.reader.problem(Diagnostic::new(node.span, what, label));
        }
    }
}

/// The value, if it has no placeholder.
fn fixed(node: &Node) -> Option<Json> {
    match &node.value {
        Value::String(text) if text.contains("{{") => {
            let template = Template::compile(text, node.span, Scope::default()).ok()?;
            template.literal().map(Json::from)
        }
        Value::Array(nodes) => nodes.iter().map(fixed).collect::<Option<Vec<_>>>().map(Json::Array),
        Value::Table(table) => {
            let pairs =
                table.entries.iter().map(|entry| Some((entry.key.clone(), fixed(&entry.node)?)));
            pairs.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
        }
        _ => Some(node.to_json()),
    }
}
