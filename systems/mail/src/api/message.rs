//! Parses and decodes one message within limits of time and memory.
//!
//! Attached messages are shown as attachments and not parsed. The structure is parsed first; then each part is decoded
//! separately, so that the library never recurses into parts that claim to be encoded messages.

use mail_parser::{Address, HeaderName, Message, MessageParser, MessagePart, MimeHeaders};
use serde::Serialize;

use super::ApiError;
use crate::store::retained::{MessageSummary, RetainedMessage};

/// Most lines that may start a part; a message with more is not parsed, because parts can nest and the library keeps
/// all of them.
const PARTS: usize = 500;
/// Most lines with two dashes: every part needs one.
const DASHES: usize = 20_000;
/// Most lines with a colon: every field needs one.
const FIELDS: usize = 200_000;
/// Most bytes of a header that are read, and of all fields together that describe parts, because the library's time
/// grows with the square of their parameters.
const HEADER: usize = 512 << 10;

/// The answer of `GET /messages/{id}`.
#[derive(Debug, Serialize)]
pub(super) struct MessageView {
    id: String,
    received_at: i64,
    size: u64,
    envelope: MessageSummary,
    subject: Option<String>,
    from: Vec<Mailbox>,
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    reply_to: Vec<Mailbox>,
    /// RFC 3339, from the message's own field.
    date: Option<String>,
    message_id: Option<String>,
    headers: Vec<Field>,
    text: Option<String>,
    html: Option<String>,
    attachments: Vec<Attachment>,
    /// False if the message is too complex to parse: then text, html, attachments, and headers
    /// beyond [`HEADER`] are missing.
    is_whole: bool,
}

#[derive(Debug, Serialize)]
struct Mailbox {
    name: Option<String>,
    address: Option<String>,
}

#[derive(Debug, Serialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct Attachment {
    name: Option<String>,
    #[serde(rename = "type")]
    media_type: String,
    /// Decoded size in bytes.
    size: usize,
}

/// Parses a message. May read a file.
///
/// Errors: 404, the file is gone
pub(super) fn whole(message: &RetainedMessage) -> Result<MessageView, ApiError> {
    let content = message.content.read().map_err(|_| super::gone())?;
    Ok(shown(message, &content))
}

fn shown(message: &RetainedMessage, content: &[u8]) -> MessageView {
    let header = header(content);
    // The library's accessors need at least the part of the message itself.
    let head = MessageParser::new().parse_headers(header);
    let head = head.as_ref().filter(|head| !head.parts.is_empty());
    let is_modest = header.len() <= HEADER && is_modest(content);
    let parts = if is_modest { Parts::of(content) } else { None };
    let is_whole = parts.is_some();
    let parts = parts.unwrap_or_default();
    MessageView {
        id: message.id.to_string(),
        received_at: message.received_at,
        size: message.size,
        envelope: message.summary.clone(),
        subject: head.and_then(Message::subject).map(str::to_owned),
        from: mailboxes(head.and_then(Message::from)),
        to: mailboxes(head.and_then(Message::to)),
        cc: mailboxes(head.and_then(Message::cc)),
        reply_to: mailboxes(head.and_then(Message::reply_to)),
        date: head.and_then(Message::date).map(mail_parser::DateTime::to_rfc3339),
        message_id: head.and_then(Message::message_id).map(str::to_owned),
        headers: fields(header),
        text: parts.text,
        html: parts.html,
        attachments: parts.attachments,
        is_whole,
    }
}

/// The header, at most one byte more than [`HEADER`].
fn header(content: &[u8]) -> &[u8] {
    let start = &content[..content.len().min(HEADER + 1)];
    let mut length = 0;
    for line in start.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        if matches!(line, b"\r\n" | b"\n") {
            break;
        }
    }
    &start[..length]
}

/// Whether parsing stays within limits of time and memory. Counts every line that could belong to a header, because
/// parsing alone shows where headers begin.
fn is_modest(content: &[u8]) -> bool {
    let (mut parts, mut dashes, mut fields, mut bytes) = (0, 0, 0, 0);
    let mut is_of_part = false;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        is_of_part = has_word(line, b"content-") || is_of_part && is_folded;
        bytes += if is_of_part { line.len() } else { 0 };
        parts += usize::from(has_word(line, b"content-type"));
        dashes += usize::from(memchr::memmem::find(line, b"--").is_some());
        fields += usize::from(memchr::memchr(b':', line).is_some());
    }
    parts <= PARTS && dashes <= DASHES && fields <= FIELDS && bytes <= HEADER
}

/// Whether a line contains this field name in the library's reading: in any case, with white space anywhere. The
/// word's first letter must occur only once in it.
fn has_word(line: &[u8], word: &[u8]) -> bool {
    let mut found = 0;
    for byte in line.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let is_next = byte.eq_ignore_ascii_case(&word[found]);
        found = if is_next { found + 1 } else { usize::from(byte.eq_ignore_ascii_case(&word[0])) };
        if found == word.len() {
            return true;
        }
    }
    false
}

fn mailboxes(address: Option<&Address<'_>>) -> Vec<Mailbox> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let mailbox = |one: &mail_parser::Addr<'_>| Mailbox {
        name: owned(one.name()),
        address: owned(one.address()),
    };
    address.into_iter().flat_map(Address::iter).map(mailbox).collect()
}

/// The header fields in order, with encoded words decoded.
fn fields(header: &[u8]) -> Vec<Field> {
    let parser = MessageParser::new().header_text(HeaderName::Subject).default_header_text();
    let parsed = parser.parse_headers(header).unwrap_or_default();
    let headers = parsed.parts.first().map_or(&[][..], |root| root.headers());
    let field = |header: &mail_parser::Header<'_>| Field {
        name: header.name().to_owned(),
        value: header.value().as_text().unwrap_or_default().trim().to_owned(),
    };
    headers.iter().map(field).collect()
}

/// The parts of a message.
#[derive(Debug, Default)]
struct Parts {
    text: Option<String>,
    html: Option<String>,
    attachments: Vec<Attachment>,
}

impl Parts {
    fn of(content: &[u8]) -> Option<Self> {
        let parser = MessageParser::new()
            .with_mime_headers()
            .ignore_header(HeaderName::ContentTransferEncoding)
            .default_header_ignore();
        let message = parser.parse(content)?;
        let is_html = |part: &&MessagePart<'_>| part.is_text_html();
        let is_plain = |part: &&MessagePart<'_>| part.is_text() && !part.is_text_html();
        Some(Self {
            text: joined(message.text_bodies().filter(is_plain), content),
            html: joined(message.html_bodies().filter(is_html), content),
            attachments: message.attachments().map(|part| attachment(part, content)).collect(),
        })
    }
}

/// The decoded texts of these parts; `None` without parts.
fn joined<'m>(parts: impl Iterator<Item = &'m MessagePart<'m>>, content: &[u8]) -> Option<String> {
    let texts: Vec<String> = parts.filter_map(|part| text(part, content)).collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

/// The decoded text, or the raw text if it cannot be decoded.
fn text(part: &MessagePart<'_>, content: &[u8]) -> Option<String> {
    let alone = alone(part, content);
    let decoded = alone.as_ref().and_then(|alone| alone.parts.first()?.text_contents());
    decoded.or_else(|| part.text_contents()).map(str::to_owned)
}

fn attachment(part: &MessagePart<'_>, content: &[u8]) -> Attachment {
    let name = part.attachment_name().map(str::to_owned);
    let default = if part.is_text() { "text/plain" } else { "application/octet-stream" };
    let media_type = part.content_type().map_or_else(
        || default.to_owned(),
        |media| match media.subtype() {
            Some(subtype) => format!("{}/{subtype}", media.ctype()),
            None => media.ctype().to_owned(),
        },
    );
    let raw = part.raw_end_offset().saturating_sub(part.raw_body_offset()) as usize;
    let size = alone(part, content).and_then(|alone| alone.parts.first().map(MessagePart::len));
    Attachment { name, media_type, size: size.unwrap_or(raw) }
}

/// A part as a message of its own, decoded; `None` for a part that contains messages or claims to.
fn alone<'c>(part: &MessagePart<'_>, content: &'c [u8]) -> Option<Message<'c>> {
    let holds =
        |kind: &str| ["message", "multipart"].iter().any(|one| kind.eq_ignore_ascii_case(one));
    if part.content_type().is_some_and(|media| holds(media.ctype())) {
        return None;
    }
    let (from, to) = (part.raw_header_offset() as usize, part.raw_end_offset() as usize);
    let parser = MessageParser::new().with_mime_headers().default_header_ignore();
    parser.parse(content.get(from..to)?)
}

#[cfg(test)]
mod tests;
