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

/// What `MAIL` says of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// Bytes, dots not doubled.
    pub size: u64,
    /// Whether any of them has its eighth bit set.
    pub eight_bit: bool,
}

impl Envelope {
    /// Appends `MAIL` with what is offered and of use.
    pub fn mail(
        &self,
        (call, rows): (&Call, Option<&Rows>),
        announced: Announced,
        offers: Offers,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"MAIL FROM:<");
        address(&self.from, (call, rows), out);
        out.push(b'>');
        if offers.has(Extension::Size) {
            write!(out, " SIZE={}", announced.size).expect("writing to memory does not fail");
        }
        if announced.eight_bit && offers.has(Extension::EightBit) {
            out.extend_from_slice(b" BODY=8BITMIME");
        }
        if self.utf8 {
            out.extend_from_slice(b" SMTPUTF8");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends `RCPT` for the recipient at this place.
    pub fn rcpt(&self, place: usize, with: (&Call, Option<&Rows>), out: &mut Vec<u8>) {
        out.extend_from_slice(b"RCPT TO:<");
        address(&self.to[place], with, out);
        out.extend_from_slice(b">\r\n");
    }
}

/// Appends an address. What would end the command is no part of one, whatever a row says.
fn address(template: &Template, (call, rows): (&Call, Option<&Rows>), out: &mut Vec<u8>) {
    let from = out.len();
    template.render(call, rows, out);
    for byte in &mut out[from..] {
        if byte.is_ascii_control() {
            *byte = b'?';
        }
    }
}
