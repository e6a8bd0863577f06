//! `size`, `body` or `message`, with `subject` and `header`: the content.

use engine::driver::{Call, CompileContext};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Node, Reader, Value};
use plan::template::{Scope, Template};
use plan::units::{SIZE, parse_size};

use crate::smtp::codec::text::{body_of, lines};
use crate::smtp::content::generated::Generated;
use crate::smtp::content::given::Given;
use crate::smtp::content::header::{Header, Piece};
use crate::smtp::content::{Content, MessageContext};
use crate::smtp::envelope::Envelope;
use crate::smtp::session::Session;
use crate::table::{one_or_more, template};

/// Bytes of a message of which nothing is said.
const USUAL: u64 = 1024;

/// Bytes of the largest generated message.
const LARGEST: u64 = 1 << 30;

/// Bytes of the longest line without its end (RFC 5321 section 4.5.3.1.6).
const LONGEST_LINE: usize = 998;

/// Fields that say where a message comes from and what it was; the instrument's to write.
const OURS: [&str; 2] = ["X-Proofload-Nonce", "X-Proofload-Digest"];

/// Reads the content; `None` where its problems leave none.
pub fn read(
    reader: &mut Reader<'_>,
    session: &Session,
    envelope: Option<&Envelope>,
    compile: &CompileContext<'_>,
) -> Option<Content> {
    let scope = compile.operation.scope();
    let eight_bit = reader.boolean("eight_bit").unwrap_or(false);
    let size = reader.parsed("size", SIZE, |text| parse_size(text).filter(|size| *size <= LARGEST));
    let body = reader.string("body");
    let messages = reader.node("message");
    let one_only = ["size", "body", "message"].map(|key| (key, reader.entry(key)));
    let mut present = one_only.iter().filter_map(|(key, entry)| Some((*key, (*entry)?.key_span)));
    if let (Some((first, _)), Some((_, span))) = (present.next(), present.next()) {
        let what = "a message has one of `size`, `body` and `message`";
        reader.problem(Diagnostic::new(span, what, format!("remove this or `{first}`")));
    }
    let fields = fields(reader, scope);
    if let Some(node) = messages {
        for key in ["subject", "header", "eight_bit"] {
            if let Some(entry) = reader.entry(key) {
                let what = format!("`{key}` beside `message`, which is sent as it is");
                reader.problem(Diagnostic::new(entry.key_span, what, "remove this"));
            }
        }
        return given(reader, node, scope);
    }
    let header = whole_header(session, envelope?, fields, eight_bit, compile.wall_clock);
    match body {
        Some((text, span)) => {
            check_lines(reader, text, span);
            let text = template(reader, text, span, scope)?;
            Some(Content::Given(vec![Given::body(header, text)]))
        }
        None => generated(reader, size, eight_bit, header, scope),
    }
}

fn generated(
    reader: &mut Reader<'_>,
    size: Option<(u64, Span)>,
    eight_bit: bool,
    header: Header,
    scope: Scope<'_>,
) -> Option<Content> {
    let (size, span) = size.unwrap_or((USUAL, Span::default()));
    // As long as on a machine that has been up for some days.
    let now = 1_000_000_000_000_000;
    let call = Call { trial: 1, now, ..Call::default() };
    let example = MessageContext { call: &call, rows: scope.rows, dots: true };
    match Generated::new(size, header, nonce(), eight_bit, &example) {
        Ok(generated) => Some(Content::Generated(Box::new(generated))),
        Err(error) => {
            reader.problem(Diagnostic::new(span, error.to_string(), "expected more"));
            None
        }
    }
}

/// `message`: one, or a list of them; each with header, empty line and body.
fn given(reader: &mut Reader<'_>, node: &Node, scope: Scope<'_>) -> Option<Content> {
    let mut messages = Vec::new();
    for node in one_or_more(Some(node)) {
        let Value::String(text) = &node.value else {
            reader.problem(node.unlike("a message, or a list of them"));
            continue;
        };
        let mut plain = Vec::new();
        lines(text.as_bytes(), &mut plain);
        if body_of(&plain).is_none() {
            let what = "the message has no empty line after its header";
            reader.problem(Diagnostic::new(node.span, what, "expected header and body"));
        }
        check_lines(reader, text, node.span);
        let text = template(reader, text, node.span, scope);
        messages.extend(text.map(|text| Given::message(marks(), text)));
    }
    if matches!(&node.value, Value::Array(nodes) if nodes.is_empty()) {
        reader.problem(node.unlike("at least one message"));
    }
    (!messages.is_empty()).then_some(Content::Given(messages))
}

/// Lines that no server has to take.
fn check_lines(reader: &mut Reader<'_>, text: &str, span: Span) {
    let long = (1..).zip(text.split(['\n', '\r'])).find(|(_, line)| line.len() > LONGEST_LINE);
    if let Some((number, line)) = long {
        let what = format!("line {number} of the text has {} bytes", line.len());
        let label = format!("expected lines of at most {LONGEST_LINE}");
        reader.problem(Diagnostic::new(span, what, label));
    }
}

fn nonce() -> Template {
    Template::compile("{{nonce}}", Span::default(), Scope::default())
        .expect("a placeholder that is known")
}

/// The two fields of our own.
fn marks() -> Header {
    let mut header = Header::default();
    header.text("X-Proofload-Nonce: ");
    header.piece(Piece::Value(nonce()));
    header.text("\r\nX-Proofload-Digest: sha256=");
    header.piece(Piece::Digest);
    header.text("\r\n");
    header
}

/// A field of the experiment.
struct Field {
    name: String,
    value: Template,
}

/// `subject` and `header`.
fn fields(reader: &mut Reader<'_>, scope: Scope<'_>) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut push = |reader: &mut Reader<'_>, name: &str, (text, span): (&str, Span)| {
        let value = template(reader, text, span, scope);
        fields.extend(value.map(|value| Field { name: name.to_owned(), value }));
    };
    if let Some(text) = reader.string("subject") {
        push(reader, "Subject", text);
    }
    for entry in reader.table("header").map_or(&[][..], |table| table.entries.as_slice()) {
        let name = entry.key.as_str();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_word) {
            let what = format!("header name {name:?} holds other than letters, digits, `-`, `_`");
            reader.problem(Diagnostic::new(entry.key_span, what, "expected the name of a field"));
        } else if OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
            let what = format!("header {name} identifies messages and is set by proofload");
            reader.problem(Diagnostic::new(entry.key_span, what, "remove this"));
        } else if let Some(text) = entry.node.as_str() {
            push(reader, name, (text, entry.node.span));
        } else {
            reader.problem(entry.node.unlike("text"));
        }
    }
    fields
}

/// Fields that every message has unless the experiment sets them, then those of the experiment, then an empty line.
fn whole_header(
    session: &Session,
    envelope: &Envelope,
    fields: Vec<Field>,
    eight_bit: bool,
    wall_clock: &str,
) -> Header {
    let mut header = marks();
    let is_free = |name: &str| !fields.iter().any(|field| field.name.eq_ignore_ascii_case(name));
    if is_free("From") {
        header.text("From: <");
        header.piece(Piece::Value(envelope.from.clone()));
        header.text(">\r\n");
    }
    if is_free("To") {
        for (place, to) in envelope.to.iter().enumerate() {
            header.text(if place == 0 { "To: <" } else { ",\r\n <" });
            header.piece(Piece::Value(to.clone()));
            header.text(">");
        }
        header.text("\r\n");
    }
    if is_free("Subject") {
        header.text("Subject: load\r\n");
    }
    if is_free("Date") {
        header.text(&format!("Date: {}\r\n", date(wall_clock)));
    }
    if is_free("Message-ID") {
        header.text("Message-ID: <");
        header.piece(Piece::Value(nonce()));
        header.text(&format!("@{}>\r\n", session.helo));
    }
    if eight_bit && is_free("Content-Type") {
        header.text("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n");
        header.text("Content-Transfer-Encoding: 8bit\r\n");
    }
    for field in fields {
        header.text(&format!("{}: ", field.name));
        header.piece(Piece::Value(field.value));
        header.text("\r\n");
    }
    header.text("\r\n");
    header
}

/// When the trial began, as messages write it; the beginning of Unix time where nothing will be sent.
fn date(wall_clock: &str) -> String {
    let instant = wall_clock.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let printer = rfc2822::DateTimePrinter::new();
    printer.timestamp_to_string(&instant).unwrap_or_default()
}
