//! A request as it will be sent: literal bytes, and templates where the experiment has them.
//!
//! Everything that does not depend on the call is encoded at compile time.

use std::io::Write;
use std::sync::Arc;

use engine::driver::Call;
use plan::rows::Rows;
use plan::template::Template;

use super::codec::field::is_text;

/// Literal bodies up to this size are sent in one write with the head; longer ones are sent from
/// where they lie, so that connections do not each hold a copy.
const INLINE_LIMIT: usize = 64 * 1024;

/// One request, ready to be encoded for any call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whether the answer has no body because the method is HEAD.
    pub is_head: bool,
    /// The head, up to and including its empty line.
    pub head: Vec<Piece>,
    /// The body.
    pub body: Payload,
}

/// A piece of a head.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// Host and port of the target.
    Authority,
    /// A request target; what may not stand in one is percent-encoded.
    Path(Template),
    /// The value of a field; a line break becomes a blank.
    Value(Template),
    /// Length of the body in decimal.
    Length,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// The same for every call; may be empty.
    Literal(Arc<[u8]>),
    /// Put together for each call.
    Segments(Vec<Segment>),
}

/// A segment of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// These bytes.
    Literal(Vec<u8>),
    /// As rendered.
    Text(Template),
    /// As rendered, within a JSON string.
    Json(Template),
}

/// Memory for rendering, kept from one operation to the next.
#[derive(Debug, Clone, Default)]
pub struct RenderBuffers {
    rendered: Vec<u8>,
    body: Vec<u8>,
}

/// What templates are rendered with.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext<'a> {
    /// The operation about to be performed.
    pub call: &'a Call,
    /// Its data.
    pub rows: Option<&'a Rows>,
    /// Host and port of the target.
    pub authority: &'a str,
}

impl Request {
    /// Appends the request to `out`, all but its `tail`.
    ///
    /// Cost:   O(n) time; allocates only when a buffer must grow
    pub fn encode(
        &self,
        context: &RenderContext<'_>,
        scratch: &mut RenderBuffers,
        out: &mut Vec<u8>,
    ) {
        let RenderBuffers { rendered, body } = scratch;
        body.clear();
        if self.body.literal().is_none() {
            self.body.append(context, rendered, body);
        }
        let length = self.body.literal().map_or(body.len(), <[u8]>::len);
        for piece in &self.head {
            piece.append(context, length, rendered, out);
        }
        out.extend_from_slice(body);
        if let Some(literal) = self.body.literal().filter(|body| body.len() <= INLINE_LIMIT) {
            out.extend_from_slice(literal);
        }
    }

    /// What is to be sent after the encoded bytes.
    pub fn tail(&self) -> &[u8] {
        self.body.literal().filter(|body| body.len() > INLINE_LIMIT).unwrap_or_default()
    }
}

impl Payload {
    /// Appends the body of this call.
    pub fn append(&self, context: &RenderContext<'_>, rendered: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Segments(segments) => {
                segments.iter().for_each(|segment| segment.append(context, rendered, out));
            }
        }
    }

    fn literal(&self) -> Option<&[u8]> {
        match self {
            Self::Literal(bytes) => Some(bytes),
            Self::Segments(_) => None,
        }
    }
}

impl Piece {
    /// Appends it for this call, whose body has this length; `rendered` is memory to work in.
    pub fn append(
        &self,
        context: &RenderContext<'_>,
        body_length: usize,
        rendered: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Authority => out.extend_from_slice(context.authority.as_bytes()),
            Self::Path(template) => path(context.render(template, rendered), out),
            Self::Value(template) => {
                let value = context.render(template, rendered);
                out.extend(value.iter().map(|&byte| if is_text(byte) { byte } else { b' ' }));
            }
            Self::Length => {
                write!(out, "{body_length}").expect("writing to memory does not fail");
            }
        }
    }
}

impl Segment {
    fn append(&self, context: &RenderContext<'_>, rendered: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Text(template) => template.render(context.call, context.rows, out),
            Self::Json(template) => json_text(context.render(template, rendered), out),
        }
    }
}

impl RenderContext<'_> {
    fn render<'a>(&self, template: &Template, rendered: &'a mut Vec<u8>) -> &'a [u8] {
        rendered.clear();
        template.render(self.call, self.rows, rendered);
        rendered
    }
}

/// Appends a request target: what may not stand in one is percent-encoded, and it begins with `/`.
pub fn path(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if text.first() != Some(&b'/') {
        out.push(b'/');
    }
    for &byte in text {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
        }
    }
}

/// Appends text as it stands within a JSON string (RFC 8259 section 7).
pub fn json_text(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => write!(out, "\\u{byte:04x}").expect("writing to memory does not fail"),
            _ => out.push(byte),
        }
    }
}
