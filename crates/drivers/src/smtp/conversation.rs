//! A connection with a session on it, and what it keeps from one message to the next.

use std::io::Write;
use std::sync::Arc;

use engine::driver::Call;

use super::codec::offers::{Extension, Offers};
use super::content::{Context, LEAD, Rendered, TooSmall};
use super::envelope::Announced;
use super::line::Line;
use super::operation::Operation;
use super::session::Session;

/// A connection that carries one message at a time.
#[derive(Debug)]
pub struct Conversation {
    pub(super) line: Line,
    /// How it was opened.
    pub(super) session: Arc<Session>,
    pub(super) offers: Offers,
    pub(super) commands: Commands,
    pub(super) content: Rendered,
    /// Why there is nothing to send.
    pub(super) fault: Option<TooSmall>,
    /// Whether a message was begun on it.
    pub(super) used: bool,
    /// Whether the server is in the midst of a message that was given up.
    pub(super) unfinished: bool,
}

/// The commands of a message in the order of sending, and where each ends.
#[derive(Debug, Default)]
pub(super) struct Commands {
    pub(super) bytes: Vec<u8>,
    /// End of `RSET`; 0 where there is none.
    pub(super) reset: usize,
    pub(super) mail: usize,
    /// End of each `RCPT`.
    pub(super) rcpts: Vec<usize>,
    /// Whether commands go in one write.
    pub(super) together: bool,
    /// Where in the content's lead a `BDAT` begins; `None` where `DATA` is used.
    pub(super) chunk: Option<usize>,
}

impl Conversation {
    /// A conversation on a line whose session was just opened.
    pub fn new(line: Line, session: Arc<Session>, offers: Offers) -> Self {
        Self {
            line,
            session,
            offers,
            commands: Commands::default(),
            content: Rendered::default(),
            fault: None,
            used: false,
            unfinished: false,
        }
    }

    /// Encodes the message of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer must grow
    pub fn encode(&mut self, operation: &Operation, call: &Call) {
        let (offers, rows) = (self.offers, operation.rows.as_deref());
        let chunked = operation.chunking && offers.has(Extension::Chunking);
        let context = Context { call, rows, dots: !chunked };
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
        envelope.mail((call, rows), Announced { size, eight_bit }, offers, bytes);
        *mail = bytes.len();
        for place in 0..envelope.to.len() {
            envelope.rcpt(place, (call, rows), bytes);
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
