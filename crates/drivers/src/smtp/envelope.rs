//! The envelope: `MAIL` and `RCPT` as they will be sent.

use std::io::Write;

use engine::driver::Call;
use plan::rows::Rows;
use plan::template::Template;

use super::codec::offers::{Extension, Offers};

/// Who sends to whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The reverse path without its brackets.
    pub from: Template,
    /// The forward paths, one `RCPT` each.
    pub to: Vec<Template>,
    /// Whether addresses or header may hold more than ASCII (`SMTPUTF8`).
    pub utf8: bool,
}

/// What `MAIL` announces of the content, as far as the server offers the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// Bytes, dots not doubled (`SIZE`).
    size: Option<u64>,
    /// Whether any of them has its eighth bit set (`8BITMIME`).
    eight_bit: bool,
}

impl Announced {
    /// A content of this size, announced to a server with these offers.
    pub fn of(size: u64, eight_bit: bool, offers: Offers) -> Self {
        Self {
            size: offers.has(Extension::Size).then_some(size),
            eight_bit: eight_bit && offers.has(Extension::EightBit),
        }
    }
}

impl Envelope {
    /// Appends `MAIL` with what is offered and of use.
    pub fn mail(&self, call: &Call, rows: Option<&Rows>, announced: Announced, out: &mut Vec<u8>) {
        out.extend_from_slice(b"MAIL FROM:<");
        address(&self.from, call, rows, out);
        out.push(b'>');
        if let Some(size) = announced.size {
            write!(out, " SIZE={size}").expect("writing to memory does not fail");
        }
        if announced.eight_bit {
            out.extend_from_slice(b" BODY=8BITMIME");
        }
        if self.utf8 {
            out.extend_from_slice(b" SMTPUTF8");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends `RCPT` for the recipient at this place.
    pub fn rcpt(&self, place: usize, call: &Call, rows: Option<&Rows>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"RCPT TO:<");
        address(&self.to[place], call, rows, out);
        out.extend_from_slice(b">\r\n");
    }
}

/// Appends an address. A control character from a row would end the command; it becomes `?`.
fn address(template: &Template, call: &Call, rows: Option<&Rows>, out: &mut Vec<u8>) {
    let from = out.len();
    template.render(call, rows, out);
    for byte in &mut out[from..] {
        if byte.is_ascii_control() {
            *byte = b'?';
        }
    }
}
