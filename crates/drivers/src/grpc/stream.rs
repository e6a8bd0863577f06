//! One stream of a connection: a call, and what is kept of its answer.

use engine::driver::Call;
use http::HeaderMap;

use super::code::Code;
use super::frame::Deframer;
use crate::http::stream::reading::StreamReading;
use crate::http2::connection::{ConnectionHandle, PreparedRequest, RenderBuffers};

/// Memory that the JSON of an answer may leave behind for the next one.
const IDLE_LIMIT: usize = 1024 * 1024;

/// A stream, which carries one call at a time.
#[derive(Debug)]
pub struct CallStream {
    pub(super) handle: ConnectionHandle,
    /// What `encode` was given.
    pub(super) call: Call,
    /// The request of that call, or why it cannot be sent.
    pub(super) prepared: Result<PreparedRequest, String>,
    pub(super) buffers: RenderBuffers,
    pub(super) kept: Box<Kept>,
}

/// What is kept of an answer.
#[derive(Debug, Default)]
pub struct Kept {
    /// The status, once it came.
    pub(super) code: Option<Code>,
    /// What the server says of it, as sent.
    pub(super) message: Vec<u8>,
    /// Metadata of the head and the trailers, where something needs them.
    pub(super) metadata: HeaderMap,
    /// The same, as HTTP/1.1 writes a head.
    pub(super) head: Vec<u8>,
    pub(super) deframer: Deframer,
    /// How many messages came.
    pub(super) count: u64,
    /// Their bytes.
    pub(super) size: u64,
    /// Messages as JSON, each on a line, where something needs them.
    pub(super) json: Vec<u8>,
    /// What came of a stream.
    pub(super) stream: StreamReading,
}

impl CallStream {
    /// A stream of this connection.
    pub fn new(handle: ConnectionHandle) -> Self {
        let (buffers, kept) = (RenderBuffers::default(), Box::default());
        Self { handle, call: Call::default(), prepared: Err(String::new()), buffers, kept }
    }
}

impl Kept {
    /// Forgets the previous answer, but not its memory.
    pub(super) fn clear(&mut self) {
        self.code = None;
        self.message.clear();
        self.metadata.clear();
        self.head.clear();
        self.deframer.clear();
        (self.count, self.size) = (0, 0);
        self.json.clear();
        self.json.shrink_to(IDLE_LIMIT);
        self.stream.clear();
    }
}
