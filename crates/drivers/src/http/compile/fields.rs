//! The `header` table: names checked, values as templates.

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader, Value};
use plan::template::{Scope, Template};

use crate::expect::rule::shown;
use crate::http::field::{is_text, is_token};
use crate::http::request::Piece;
use crate::table::template;

/// Fields that every request has unless the experiment sets them.
pub const DEFAULTS: [(&str, &str); 2] =
    [("user-agent", concat!("proofload/", env!("CARGO_PKG_VERSION"))), ("accept", "*/*")];

/// Fields that frame the body, which is the instrument's to do.
const OURS: [&str; 2] = ["content-length", "transfer-encoding"];

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name, as written.
    pub name: String,
    /// Its value.
    pub value: Piece,
}

/// Fields in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(Vec<Field>);

impl Fields {
    /// Whether there is a field with this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// Removes the fields with these names.
    pub fn remove(&mut self, names: &[&str]) {
        self.0.retain(|field| !names.iter().any(|name| field.name.eq_ignore_ascii_case(name)));
    }

    /// Adds a field; `instead` of those with its name, or beside them. A length is left out: it is
    /// computed.
    pub fn push(&mut self, field: Field, instead: bool) {
        if OURS.iter().any(|name| field.name.eq_ignore_ascii_case(name)) {
            return;
        }
        if instead {
            self.0.retain(|other| !other.name.eq_ignore_ascii_case(&field.name));
        }
        self.0.push(field);
    }
}

/// Reads `header`: each value text, or a list of texts for a field that is sent several times.
pub fn read(reader: &mut Reader<'_>, scope: Scope<'_>) -> Fields {
    let mut fields = Fields::default();
    let Some(table) = reader.table("header") else {
        return fields;
    };
    for entry in &table.entries {
        if let Err(what) = check_name(&entry.key) {
            reader.problem(Diagnostic::new(entry.key_span, what, "expected the name of a field"));
            continue;
        }
        if OURS.iter().any(|name| entry.key.eq_ignore_ascii_case(name)) {
            let what = format!("header {} is computed from the body", entry.key);
            reader.problem(Diagnostic::new(entry.key_span, what, "remove this"));
            continue;
        }
        let nodes = match &entry.node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        for node in nodes {
            if let Some(value) = read_value(reader, node, scope) {
                fields.push(Field { name: entry.key.clone(), value }, false);
            }
        }
    }
    fields
}

fn read_value(reader: &mut Reader<'_>, node: &Node, scope: Scope<'_>) -> Option<Piece> {
    let Value::String(text) = &node.value else {
        reader.problem(Diagnostic::new(
            node.span,
            "the value of a header is neither text nor a list of texts",
            "expected text",
        ));
        return None;
    };
    if !text.bytes().all(is_text) {
        let what = format!("header value {:?} holds a control character", shown(text));
        reader.problem(Diagnostic::new(node.span, what, "expected one line of text"));
        return None;
    }
    template(reader, text, node.span, scope).map(value)
}

/// The value of a field as literal bytes, control characters as blanks.
pub fn literal(value: &str) -> Piece {
    Piece::Literal(value.bytes().map(|byte| if is_text(byte) { byte } else { b' ' }).collect())
}

/// A piece of a head from a template: literal bytes where it holds no placeholder.
pub fn value(template: Template) -> Piece {
    match template.literal() {
        Some(text) => literal(text),
        None => Piece::Value(template),
    }
}

/// Whether a name may stand before the colon.
///
/// Errors: what is wrong with it
pub fn check_name(name: &str) -> Result<(), String> {
    match !name.is_empty() && name.bytes().all(is_token) {
        true => Ok(()),
        false => Err(format!("header name {:?} is not a token", shown(name))),
    }
}
