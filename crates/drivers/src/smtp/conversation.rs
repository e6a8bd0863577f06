//! A connection with a session on it, and what it keeps from one message to the next.

use super::buffered_stream::BufferedStream;
use super::codec::offers::Offers;
use super::content::{Rendered, TooSmall};

/// A connection that carries one message at a time.
#[derive(Debug)]
pub struct Conversation {
    pub(super) line: BufferedStream,
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
    pub fn new(line: BufferedStream, offers: Offers) -> Self {
        Self {
            line,
            offers,
            commands: Commands::default(),
            content: Rendered::default(),
            fault: None,
            used: false,
            unfinished: false,
        }
    }
}
