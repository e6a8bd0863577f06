//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `grpc`, `expect`, the paths of `items`, and captures. Files are read before:
//! `proto` is a list of tables `{ name, content }`, `protoset` is base64.

mod expect;
mod message;
mod metadata;
mod schema;

#[cfg(test)]
mod tests;

use http::uri::PathAndQuery;
use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Node, Reader, Value};
use plan::operation::Operation as Planned;
use plan::protocol::{FileForm, FileKey};
use plan::template::Call;
use plan::units::{SIZE, parse_size};
use prost_reflect::{MessageDescriptor, MethodDescriptor};

pub use schema::{imports, read_set};

use super::operation::Operation;
use super::request::{Messages, Request};
use super::{EVENTS, frame, json};
use crate::http::answer_check::{AnswerCheck, Continuation};
use crate::http::compile::stream::place;
use crate::http::request::{Payload, RenderContext};
use crate::http::stream::framing::Format;
use crate::http::stream::rules::StreamRules;
use crate::http2::allowed_streams::AllowedStreams;
use crate::table::no_requests;

/// The key of methods that answer with a stream.
pub const STREAM: &str = "stream";
/// Keys that name files.
pub const FILES: [FileKey; 2] = [
    FileKey { key: "proto", content: "proto", form: FileForm::Sources(imports) },
    FileKey { key: "protoset", content: "protoset", form: FileForm::Base64 },
];
/// Bytes of a message that is read, unless the file says otherwise; what other clients take.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;
/// Rows whose messages are encoded beforehand, at most.
const ROWS_TRIED: usize = 10_000;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `grpc` and `expect` tables, of its items and captures
pub fn operation(planned: &Planned) -> Result<Operation, Vec<Diagnostic>> {
    let mut reader = Reader::new(&planned.table);
    let schema = schema::read(&mut reader);
    let named = reader.string("method");
    if planned.table.get("method").is_none() {
        reader.missing("method", "method = \"shop.Cart/Add\"");
    }
    let method = schema.zip(named).and_then(|(schema, (name, span))| {
        let method = schema::method(&schema, name, span);
        method.map_err(|problem| reader.problem(problem)).ok()
    });
    let stream = read_stream(&mut reader);
    let span = named.map_or(planned.table.span, |(_, span)| span);
    check_stream(&mut reader, method.as_ref(), span);
    let texts = texts(&mut reader, method.as_ref(), planned);
    let max_message = read_max_message(&mut reader);
    let (fields, rendered) = metadata::read(&mut reader, planned);
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    let (codes, expectations) = expect::read(planned, stream, &mut problems);
    let (Some(method), true) = (method, problems.is_empty()) else { return Err(problems) };
    let name = format!("{}/{}", method.parent_service().full_name(), method.name());
    let path = PathAndQuery::try_from(format!("/{name}"));
    let path = path.map_err(|error| refused(span, format!("method {name}: {error}")))?;
    let check = AnswerCheck::of(expectations, Continuation::default(), planned);
    let (descriptor, traced) = (method.input(), planned.is_traced);
    let messages = messages(&descriptor, texts, planned)?;
    let request = Request { path, fields, rendered, traced, messages, descriptor };
    let (answer, allowed) = (method.output(), AllowedStreams::default());
    Ok(Operation { method: name, request, answer, max_message, codes, check, allowed })
}

fn refused(span: Span, what: String) -> Vec<Diagnostic> {
    vec![Diagnostic::new(span, what, "in this operation")]
}

/// `stream = true`, or `{ event = "$.delta" }`: messages are timed, or those with something at this place.
fn read_stream(reader: &mut Reader<'_>) -> Option<StreamRules> {
    let node = reader.node(STREAM)?;
    let rules = StreamRules::of(Format::Chunks, EVENTS);
    match &node.value {
        Value::Boolean(true) => Some(rules),
        Value::Table(table) => {
            let mut inner = Reader::new(table);
            let event = inner.node("event");
            let counted = event.and_then(|event| place(&mut inner, event));
            inner.finish().into_iter().for_each(|problem| reader.problem(problem));
            Some(StreamRules { counted, ..rules })
        }
        _ => {
            let problem = node.unlike("true or { event = \"$.delta\" }");
            reader.problem(problem.with_hint("remove it if the method answers with one message"));
            Some(rules)
        }
    }
}

/// The spans of an operation follow from its table alone, so the table says what the method does.
fn check_stream(reader: &mut Reader<'_>, method: Option<&MethodDescriptor>, span: Span) {
    let Some(method) = method else { return };
    let name = format!("{}/{}", method.parent_service().full_name(), method.name());
    match (reader.entry(STREAM), method.is_server_streaming()) {
        (Some(entry), false) => {
            let what = format!("{name} answers with one message, not with a stream");
            reader.problem(Diagnostic::new(entry.key_span, what, "remove this"));
        }
        (None, true) => {
            let what = format!("{name} answers with a stream of messages");
            let problem = Diagnostic::new(span, what, "its answer is not known to be a stream");
            reader.problem(problem.with_hint("add stream = true"));
        }
        _ => {}
    }
}

/// A message as JSON, and its place in the file.
struct Text {
    payload: Payload,
    span: Span,
}

/// `message`, or `messages` of a method that takes a stream.
fn texts(
    reader: &mut Reader<'_>,
    method: Option<&MethodDescriptor>,
    planned: &Planned,
) -> Vec<Text> {
    let (one, many) = (reader.entry("message"), reader.entry("messages"));
    if let (Some(_), Some(many)) = (one, many) {
        let what = "`message` and `messages` exclude each other";
        reader.problem(Diagnostic::new(many.key_span, what, "remove one of them"));
    }
    let Some(method) = method else { return Vec::new() };
    if let (Some(many), false) = (many, method.is_client_streaming()) {
        let what = format!("{} takes one message", method.full_name());
        let problem = Diagnostic::new(many.key_span, what, "a list is for methods that take more");
        reader.problem(problem.with_hint("write message = { … }"));
        return Vec::new();
    }
    let nodes: Vec<&Node> = match (one, many) {
        (Some(one), _) => vec![&one.node],
        (None, Some(_)) => reader.array("messages").unwrap_or_default().iter().collect(),
        // A message without fields.
        (None, None) => {
            let (payload, span) = (Payload::Literal(b"{}"[..].into()), planned.table.span);
            return vec![Text { payload, span }];
        }
    };
    let texts = nodes.into_iter().map(|node| {
        let payload = message::read(reader, node, &method.input(), planned.scope());
        Text { payload, span: node.span }
    });
    texts.collect()
}

/// Encodes what is the same for every call, and tries what is not.
fn messages(
    descriptor: &MessageDescriptor,
    texts: Vec<Text>,
    planned: &Planned,
) -> Result<Messages, Vec<Diagnostic>> {
    let is_same = texts.iter().all(|text| text.payload.literal().is_some());
    let mut out = Vec::new();
    let mut problems = Vec::new();
    for text in &texts {
        let encode = |json: &[u8], out: &mut Vec<u8>| {
            frame::append(out, |out| json::encode(descriptor, json, out))
        };
        match text.payload.literal() {
            Some(json) => {
                let encoded = encode(json, &mut out).map_err(|error| refused(text.span, error));
                problems.extend(encoded.err().into_iter().flatten());
            }
            None => problems.extend(tried(text, planned, encode)),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(match is_same {
        true => Messages::Same(out.into()),
        false => Messages::Rendered(texts.into_iter().map(|text| text.payload).collect()),
    })
}

/// The first row whose message cannot be encoded. What is captured is not known beforehand.
fn tried(
    text: &Text,
    planned: &Planned,
    encode: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), String>,
) -> Option<Diagnostic> {
    if planned.is_step {
        return None;
    }
    let rows = planned.rows.as_deref();
    let (mut rendered, mut json, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..planned.row_count().clamp(1, ROWS_TRIED) {
        let call = Call { trial: 1, row, ..Call::default() };
        let context =
            RenderContext { call: &call, rows, authority: "", is_secure: false, location: "" };
        json.clear();
        out.clear();
        text.payload.append(&context, &mut rendered, &mut json);
        if let Err(error) = encode(&json, &mut out) {
            let what = match rows {
                Some(_) => format!("the message of row {}: {error}", row + 1),
                None => format!("the message of the first call: {error}"),
            };
            return Some(Diagnostic::new(text.span, what, "with its placeholders filled in"));
        }
    }
    None
}

/// `max_message`: bytes, or a size.
fn read_max_message(reader: &mut Reader<'_>) -> usize {
    let Some(node) = reader.node("max_message") else { return MAX_MESSAGE };
    let size = match &node.value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        Value::String(text) => parse_size(text),
        _ => None,
    };
    let size = size.filter(|size| *size <= u64::from(u32::MAX));
    match size.and_then(|size| usize::try_from(size).ok()) {
        Some(size) => size,
        None => {
            reader.problem(node.unlike(&format!("{SIZE}, below 4GiB")));
            MAX_MESSAGE
        }
    }
}
