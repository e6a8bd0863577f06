//! Sending a request and reading its answer to the end.

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::failure_kind;
use record::FailureKind;

use super::codec::body::Body;
use super::codec::head::Head;
use super::conversation::{Conversation, ReadError};
use crate::http::FIRST_BYTE;
use crate::http::answer::{Answer, BodyPart, Failure, Keep};
use crate::http::protocol_error::ProtocolError;

/// The sent_request of one exchange, as far as reading the answer depends on it.
#[derive(Debug, Clone, Copy)]
pub struct SentRequest<'a> {
    /// What is to be sent after the encoded bytes.
    pub tail: &'a [u8],
    /// Whether the method is HEAD.
    pub is_head: bool,
    /// What is kept of the answer.
    pub keep: Keep<'a>,
    /// When the request was begun; `first_byte` counts from here.
    pub began: u64,
}

impl Conversation {
    /// Sends what was encoded and reads the answer to its end.
    ///
    /// Errors: the kind of failure and what was seen
    /// Cost:   no allocation, unless the body is kept and longer than any before
    pub async fn converse<C: Clock>(
        &mut self,
        sent_request: &SentRequest<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        let head = self.read_head(sent_request, exchange).await?;
        exchange.status = head.status.into();
        self.progress.kept.begin_body(sent_request.keep, (head.status, head.coding), exchange);
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
                    let kept = &mut self.progress.kept.head;
                    kept.clear();
                    kept.extend_from_slice(&self.input.unread()[..head.length]);
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
            self.take_body(&mut body, sent_request.keep, &mut size, exchange)?;
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
    fn take_body<C: Clock>(
        &mut self,
        body: &mut Body,
        keep: Keep<'_>,
        size: &mut u64,
        exchange: &mut Exchange<C>,
    ) -> Result<(), ProtocolError> {
        while !self.input.is_empty() && !body.is_done() {
            let unread = self.input.unread();
            let (consumed, data) = body.decode(unread)?;
            *size += data.len() as u64;
            let part = BodyPart { data: &unread[data], ends_chunk: body.is_at_boundary() };
            self.progress.kept.take(part, keep, *size, exchange)?;
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
            exchange.stamp(FIRST_BYTE, exchange.read_at - sent_request.began);
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
