//! Sending a request and reading its answer to the end.

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::failure_kind;
use record::{FailureKind, Outcome};

use super::codec::body::Body;
use super::codec::head::{Coding, Head};
use super::codec::protocol_error::ProtocolError;
use super::conversation::{Conversation, ReadError};

/// A body that something needs may have so many bytes, as sent and as decoded.
pub const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// What is kept of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// The final head.
    pub head: bool,
    /// The body.
    pub body: KeepBody,
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

/// The sent_request of one exchange, as far as reading the answer depends on it.
#[derive(Debug, Clone, Copy)]
pub struct SentRequest<'a> {
    /// What is to be sent after the encoded bytes.
    pub tail: &'a [u8],
    /// Whether the method is HEAD.
    pub is_head: bool,
    /// What is kept of the answer.
    pub keep: Keep,
    /// When the request was begun; `first_byte` counts from here.
    pub began: u64,
}

impl Conversation {
    /// Sends what was encoded and reads the answer to its end.
    ///
    /// Errors: the kind of failure and what was seen
    /// Cost:   no allocation, unless the body is kept and longer than any before
    pub async fn exchange<C: Clock>(
        &mut self,
        sent_request: &SentRequest<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        let head = self.read_head(sent_request, exchange).await?;
        exchange.status = head.status;
        let size = self.read_body(&head, sent_request, exchange).await?;
        // An answer may come before the request is sent; then it is unknown what the peer reads next.
        let reusable = head.keep_alive && self.is_sent();
        let Head { status, coding, sets_cookie, .. } = head;
        Ok(Answer { status, reusable, coding, size, sets_cookie })
    }

    async fn read_head<C: Clock>(
        &mut self,
        sent_request: &SentRequest<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Head, Failure> {
        // Read before parsing: what was there before the request was sent is no answer to it.
        loop {
            if self.read_more(sent_request, exchange).await? == 0 {
                let seen = self.input.unread().len();
                return Err(self.closed(match seen {
                    0 => "before the answer".to_owned(),
                    seen => format!("after {seen} bytes of the head of the answer"),
                }));
            }
            while let Some(head) = self.input.head(sent_request.is_head)? {
                if sent_request.keep.head {
                    self.kept_head.clear();
                    self.kept_head.extend_from_slice(&self.input.unread()[..head.length]);
                }
                self.input.take(head.length);
                if head.status >= 200 {
                    return Ok(head);
                }
            }
        }
    }

    async fn read_body<C: Clock>(
        &mut self,
        head: &Head,
        sent_request: &SentRequest<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<u64, Failure> {
        let mut body = Body::new(head.framing);
        let mut size = 0;
        loop {
            self.take_body(&mut body, sent_request.keep.body, &mut size)?;
            if body.is_done() {
                break;
            }
            if self.read_more(sent_request, exchange).await? == 0 {
                if body.may_end() {
                    break;
                }
                return Err(self.closed(match body {
                    Body::Length(left) => {
                        format!("after {size} of {} bytes of the body", size + left)
                    }
                    _ => format!("after {size} bytes of the body, before its end"),
                }));
            }
        }
        match self.input.unread().len() {
            0 => Ok(size),
            trailing => Err(ProtocolError::Trailing(trailing).into()),
        }
    }

    /// Takes what there is of the body out of the input.
    fn take_body(
        &mut self,
        body: &mut Body,
        keep: KeepBody,
        size: &mut u64,
    ) -> Result<(), ProtocolError> {
        while !self.input.is_empty() && !body.is_done() {
            let unread = self.input.unread();
            let (consumed, data) = body.decode(unread)?;
            *size += data.len() as u64;
            let data = match keep {
                KeepBody::Nothing => &[],
                KeepBody::All if *size > BODY_LIMIT as u64 => {
                    return Err(ProtocolError::BodyTooLong(BODY_LIMIT));
                }
                KeepBody::All => &unread[data],
                KeepBody::Beginning => {
                    let room = BODY_LIMIT - self.kept_body.len();
                    &unread[data.start..data.end.min(data.start + room)]
                }
            };
            self.kept_body.extend_from_slice(data);
            self.input.take(consumed);
        }
        Ok(())
    }

    async fn read_more<C: Clock>(
        &mut self,
        sent_request: &SentRequest<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<usize, Failure> {
        let nothing_yet = exchange.bytes_received == 0;
        let read = self.fill(sent_request.tail, exchange).await.map_err(Failure::from)?;
        exchange.note_read();
        if nothing_yet && read > 0 {
            exchange.stamp(super::FIRST_BYTE, exchange.read_at - sent_request.began);
        }
        Ok(read)
    }

    fn closed(&self, when: String) -> Failure {
        match self.send_error() {
            Some(error) => Failure {
                kind: failure_kind(error),
                detail: format!("sending the request: {error}; the peer closed {when}"),
            },
            None => Failure {
                kind: FailureKind::Closed,
                detail: format!("the peer closed the connection {when}"),
            },
        }
    }
}

impl From<ReadError> for Failure {
    fn from(trouble: ReadError) -> Self {
        match trouble {
            ReadError::Stream(error) => Self {
                kind: failure_kind(&error),
                detail: format!("the connection failed: {error}"),
            },
            ReadError::Stale(0) => Self {
                kind: FailureKind::Closed,
                detail: "the peer closed the connection before the request was sent".into(),
            },
            ReadError::Stale(length) => Self {
                kind: FailureKind::Malformed,
                detail: format!("{length} bytes came before the request was sent"),
            },
        }
    }
}
