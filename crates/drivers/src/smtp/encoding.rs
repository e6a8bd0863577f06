//! Encodes a message: its commands and its content.

use std::io::Write;

use engine::driver::Call;

use super::codec::offers::Extension;
use super::content::{LEAD, MessageContext, Rendered};
use super::conversation::{Commands, Conversation};
use super::envelope::Announced;
use super::operation::Operation;

impl Conversation {
    /// Encodes the message of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer must grow
    pub fn encode(&mut self, operation: &Operation, call: &Call) {
        let (offers, rows) = (self.offers, operation.rows.as_deref());
        let chunked = operation.chunking && offers.has(Extension::Chunking);
        let context = MessageContext { call, rows, dots: !chunked };
        self.fault = operation.content.render(&context, &mut self.content).err();
        let Commands { bytes, reset, mail, rcpts, together, chunk } = &mut self.commands;
        bytes.clear();
        rcpts.clear();
        *together = operation.pipelining && offers.has(Extension::Pipelining);
        if self.unfinished || self.used && operation.reset {
            bytes.extend_from_slice(b"RSET\r\n");
        }
        *reset = bytes.len();
        let Rendered { size, eight_bit, .. } = self.content;
        let envelope = &operation.envelope;
        envelope.mail(call, rows, Announced::of(size, eight_bit, offers), bytes);
        *mail = bytes.len();
        for place in 0..envelope.to.len() {
            envelope.rcpt(place, call, rows, bytes);
            rcpts.push(bytes.len());
        }
        *chunk = None;
        if chunked {
            *chunk = Some(bdat(size, &mut self.content.bytes[..LEAD]));
        } else {
            bytes.extend_from_slice(b"DATA\r\n");
        }
    }
}

/// Writes a `BDAT` of so many bytes, all there is, at the end of the lead; gives its beginning.
fn bdat(size: u64, lead: &mut [u8]) -> usize {
    let mut command = [0; LEAD];
    let mut rest = command.as_mut_slice();
    write!(rest, "BDAT {size} LAST\r\n").expect("twenty digits have room");
    let length = LEAD - rest.len();
    let from = LEAD - length;
    lead[from..].copy_from_slice(&command[..length]);
    from
}
