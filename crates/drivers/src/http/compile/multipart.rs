//! `multipart`: fields and files as `multipart/form-data`.
//!
//! Source: RFC 7578; names are escaped as browsers do (HTML standard, "multipart/form-data encoding algorithm")

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::diagnostic::Diagnostic;
use plan::document::{Entry, Node, Reader, Table, Value};
use plan::template::{Scope, Template};

use super::payload::Parts;
use crate::http::field::is_text;
use crate::http::request::Segment;
use crate::table::{one_or_more, template, text};

/// What separates parts. The same in every run, since the seed fixes every byte of a request.
const BOUNDARY: &str = "proofload-7b1d3e9f52c84a06";
/// The type of a file that names none.
const ANY_TYPE: &str = "application/octet-stream";

/// A part of the body.
struct Part {
    head: String,
    content: Content,
}

enum Content {
    Text(Template),
    File(Vec<u8>),
}

/// Appends the parts that this table names.
///
/// Shape:  → the value of `content-type`
pub fn read(reader: &mut Reader<'_>, table: &Table, scope: Scope<'_>, body: &mut Parts) -> String {
    let mut parts = Vec::new();
    for entry in &table.entries {
        for node in one_or_more(Some(&entry.node)) {
            parts.extend(part(reader, entry, node, scope));
        }
    }
    let boundary = boundary(table, &parts);
    for Part { head, content } in parts {
        body.literal(format!("--{boundary}\r\n{head}\r\n").as_bytes());
        match content {
            Content::File(bytes) => body.literal(&bytes),
            Content::Text(template) => {
                body.template(template, Segment::Text, |literal, out| {
                    out.extend_from_slice(literal)
                });
            }
        }
        body.literal(b"\r\n");
    }
    body.literal(format!("--{boundary}--\r\n").as_bytes());
    format!("multipart/form-data; boundary={boundary}")
}

/// One that stands in no text and no file; what placeholders become is not known here.
fn boundary(table: &Table, parts: &[Part]) -> String {
    let texts = table.to_json().to_string();
    let files = || {
        parts.iter().filter_map(|part| match &part.content {
            Content::File(bytes) => Some(bytes.as_slice()),
            Content::Text(_) => None,
        })
    };
    let mut boundary = BOUNDARY.to_owned();
    let holds = |bytes: &[u8], boundary: &str| {
        bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes())
    };
    while texts.contains(&boundary) || files().any(|bytes| holds(bytes, &boundary)) {
        boundary.push('x');
    }
    boundary
}

fn part(reader: &mut Reader<'_>, entry: &Entry, node: &Node, scope: Scope<'_>) -> Option<Part> {
    if let Value::Table(table) = &node.value {
        return file(reader, &entry.key, table);
    }
    let written = text(reader, node)?;
    let content = Content::Text(template(reader, &written, node.span, scope)?);
    let head = format!("Content-Disposition: form-data; name=\"{}\"\r\n", escaped(&entry.key));
    Some(Part { head, content })
}

/// A file, whose content the plan has put in the place of its name.
fn file(reader: &mut Reader<'_>, field: &str, table: &Table) -> Option<Part> {
    let mut inner = Reader::new(table);
    let content = inner.string("content");
    let name = inner.string("name").map_or("file", |(name, _)| name);
    let kind = inner.string("type");
    if content.is_none() {
        inner.missing("file", "file = \"picture.png\"");
    }
    if let Some((kind, span)) = kind.filter(|(kind, _)| !kind.bytes().all(is_text)) {
        let what = format!("type {kind:?} holds a control character");
        inner.problem(Diagnostic::new(span, what, "expected a type such as \"image/png\""));
    }
    let bytes = content.and_then(|(content, span)| {
        let bytes = STANDARD.decode(content);
        if bytes.is_err() {
            let what = "the content of a file is not base64";
            inner.problem(Diagnostic::new(span, what, "name the file as `file`"));
        }
        bytes.ok()
    });
    inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    let head = format!(
        "Content-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {}\r\n",
        escaped(field),
        escaped(name),
        kind.map_or(ANY_TYPE, |(kind, _)| kind),
    );
    Some(Part { head, content: Content::File(bytes?) })
}

fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
