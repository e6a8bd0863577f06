//! Content that the experiment gives: the text of a body under our header, or a whole message under two fields of
//! ours.

use plan::template::Template;
use sha2::{Digest, Sha256};

use super::header::{Header, fill_in};
use super::{LEAD, MessageContext, Rendered};
use crate::smtp::codec::text::{Dots, body_of, lines};

/// A body, or a whole message.
#[derive(Debug)]
pub struct Given {
    header: Header,
    text: Text,
    /// Whether the text has a header of its own.
    is_message: bool,
}

/// A text, made ready as far as it is known.
#[derive(Debug)]
enum Text {
    /// The same for every call.
    Ready { plain: Vec<u8>, stuffed: Vec<u8>, digest: [u8; 32], is_ascii: bool },
    /// Rendered for each call.
    Template(Template),
}

impl Given {
    /// The text of a body; the header ends with its empty line.
    pub fn body(header: Header, text: Template) -> Self {
        Self { header, text: Text::new(text, false), is_message: false }
    }

    /// A whole message; the header has only what comes before its own.
    pub fn message(header: Header, text: Template) -> Self {
        Self { header, text: Text::new(text, true), is_message: true }
    }

    /// Renders the content of this call.
    pub fn render(&self, context: &MessageContext<'_>, out: &mut Rendered) {
        let digest_at = self.header.render(context.call, context.rows, &mut out.bytes);
        let head = out.bytes.len();
        out.eight_bit = !out.bytes[LEAD..].is_ascii();
        match &self.text {
            Text::Ready { plain, stuffed, digest, is_ascii } => {
                fill_in(digest, &mut out.bytes[digest_at..]);
                out.bytes.extend_from_slice(if context.dots { stuffed } else { plain });
                out.size = (head - LEAD + plain.len()) as u64;
                out.eight_bit |= !is_ascii;
            }
            Text::Template(template) => {
                let [rendered, plain] = &mut out.scratch;
                rendered.clear();
                plain.clear();
                template.render(context.call, context.rows, rendered);
                lines(rendered, plain);
                fill_in(&digest(plain, self.is_message), &mut out.bytes[digest_at..]);
                append(plain, context.dots, &mut out.bytes);
                out.size = (head - LEAD + plain.len()) as u64;
                out.eight_bit |= !plain.is_ascii();
            }
        }
    }
}

impl Text {
    fn new(template: Template, is_message: bool) -> Self {
        let Some(text) = template.literal() else {
            return Self::Template(template);
        };
        let (mut plain, mut stuffed) = (Vec::new(), Vec::new());
        lines(text.as_bytes(), &mut plain);
        append(&plain, true, &mut stuffed);
        let (digest, is_ascii) = (digest(&plain, is_message), plain.is_ascii());
        Self::Ready { plain, stuffed, digest, is_ascii }
    }
}

/// Digest of the body: everything after the empty line.
fn digest(text: &[u8], is_message: bool) -> [u8; 32] {
    let from = if is_message { body_of(text).unwrap_or(text.len()) } else { 0 };
    Sha256::digest(&text[from..]).into()
}

fn append(plain: &[u8], dots: bool, out: &mut Vec<u8>) {
    if dots {
        Dots::default().push(plain, out);
    } else {
        out.extend_from_slice(plain);
    }
}
