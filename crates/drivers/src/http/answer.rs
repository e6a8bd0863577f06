//! An answer of any version of HTTP, and why there may be none.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::{FailureKind, Outcome};

use super::head::Coding;
use super::protocol_error::ProtocolError;
use super::stream::reading::StreamReading;
use super::stream::rules::StreamRules;

/// A body that something needs may have so many bytes, as sent and as decoded.
pub const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// What is kept of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Keep<'a> {
    /// The final head.
    pub head: bool,
    /// The body.
    pub body: KeepBody,
    /// The events of the body, if it is to be a stream of them.
    pub stream: Option<&'a StreamRules>,
}

/// What is kept of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepBody {
    /// Nothing: it is counted and skipped.
    Nothing,
    /// All of it; a body beyond `BODY_LIMIT` is a failure.
    All,
    /// What fits into `BODY_LIMIT`, to be looked at.
    Beginning,
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Whether the connection may carry another request.
    pub reusable: bool,
    /// How the content is compressed.
    pub coding: Coding,
    /// Bytes of the body without its framing.
    pub size: u64,
    /// Whether it sets a cookie.
    pub sets_cookie: bool,
}

/// Why there is no complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
}

impl Failure {
    /// Ends the operation with it; the connection is not used again, unless there was a complete answer.
    pub fn end<C: Clock>(self, exchange: &mut Exchange<C>) -> Outcome {
        let reusable = exchange.reusable && self.kind == FailureKind::Redirect;
        let outcome = exchange.fail(self.kind, || self.detail);
        exchange.reusable = reusable;
        outcome
    }
}

impl From<ProtocolError> for Failure {
    fn from(fault: ProtocolError) -> Self {
        Self { kind: fault.kind(), detail: fault.to_string() }
    }
}

/// A part of a body without its framing.
#[derive(Debug, Clone, Copy)]
pub struct BodyPart<'a> {
    /// The bytes.
    pub data: &'a [u8],
    /// Whether a chunk, or a frame, ends with them; in a body without such, always.
    pub ends_chunk: bool,
}

/// What is kept of an answer.
#[derive(Debug, Default)]
pub struct KeptAnswer {
    /// The final head, as HTTP/1.1 writes one, where something needs it.
    pub head: Vec<u8>,
    /// The body without its framing, where something needs it.
    pub body: Vec<u8>,
    /// What came of a stream of events, since there was one.
    pub stream: Option<Box<StreamReading>>,
}

/// Memory that a body may leave behind for the next one.
const IDLE_LIMIT: usize = 1024 * 1024;

impl KeptAnswer {
    /// Forgets the previous answer, but not its memory.
    pub fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
        self.body.shrink_to(IDLE_LIMIT);
        self.stream.iter_mut().for_each(|stream| stream.clear());
    }

    /// Begins with the body of an answer of this status and coding.
    pub fn begin_body<C: Clock>(
        &mut self,
        keep: Keep<'_>,
        (status, coding): (u16, Coding),
        exchange: &mut Exchange<C>,
    ) {
        let Some(rules) = keep.stream else { return };
        self.stream.get_or_insert_default().begin(rules, status, coding);
        if !rules.statuses.contains(status) {
            // Whether the body of such an answer ends does not matter.
            let expected = &rules.statuses;
            exchange.timeout_kind = FailureKind::Status;
            exchange.reusable = false;
            exchange.detail =
                Some(format!("status {status}, expected {expected}; its body did not end"));
        }
    }

    /// Takes the next part of a body, which has had `size` bytes with it and came with the last read.
    ///
    /// Errors: the body must be kept, or has an event, and that is too long
    pub fn take<C: Clock>(
        &mut self,
        part: BodyPart<'_>,
        keep: Keep<'_>,
        size: u64,
        exchange: &mut Exchange<C>,
    ) -> Result<(), ProtocolError> {
        let BodyPart { data, ends_chunk } = part;
        if let (Some(rules), Some(stream)) = (keep.stream, &mut self.stream) {
            stream.take(rules, data, ends_chunk, exchange)?;
        }
        let kept = match keep.body {
            KeepBody::Nothing => 0,
            KeepBody::All if size > BODY_LIMIT as u64 => {
                return Err(ProtocolError::BodyTooLong(BODY_LIMIT));
            }
            KeepBody::All => data.len(),
            KeepBody::Beginning => data.len().min(BODY_LIMIT - self.body.len()),
        };
        self.body.extend_from_slice(&data[..kept]);
        Ok(())
    }
}
