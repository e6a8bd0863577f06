//! Handing over a request and reading its answer to the end.

use std::future::poll_fn;
use std::io::Write;

use bytes::Bytes;
use engine::clock::Clock;
use engine::driver::Exchange;
use h2::RecvStream;
use http::header::{CONTENT_ENCODING, HeaderMap, SET_COOKIE};
use record::FailureKind;

use super::connection::{PreparedRequest, StreamSlot};
use super::failure;
use crate::http1;
use crate::http1::answer::{BODY_LIMIT, Failure, Keep, KeepBody};
use crate::http1::codec::head::{Coding, FIELDS_LIMIT, HEAD_LIMIT, coding};
use crate::http1::codec::protocol_error::ProtocolError;

/// What a field counts beside its name and value (RFC 9113 section 6.5.2).
const FIELD_BYTES: usize = 32;

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// How the content is compressed.
    pub coding: Coding,
    /// Bytes of the body.
    pub size: u64,
    /// Whether it sets a cookie.
    pub sets_cookie: bool,
}

impl StreamSlot {
    /// Hands over what was encoded and reads the answer to its end. Dropped before that, it resets the stream
    /// (`CANCEL`).
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn exchange<C: Clock>(
        &mut self,
        keep: Keep,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        // An empty text takes no memory.
        let prepared = std::mem::replace(&mut self.prepared, Err(String::new()));
        let PreparedRequest { head, body } = prepared.map_err(|why| Failure {
            kind: FailureKind::TooLarge,
            detail: format!("the request cannot be sent: {why}"),
        })?;
        let (response, mut sending) = self
            .send
            .send_request(head, body.is_empty())
            .map_err(|error| failure::of(&error, &self.ending))?;
        if !body.is_empty() {
            exchange.bytes_sent += body.len() as u64;
            sending.send_data(body, true).map_err(|error| failure::of(&error, &self.ending))?;
        }
        let response = response.await.map_err(|error| failure::of(&error, &self.ending))?;
        exchange.note_read();
        // That of the first answer, where redirects are followed.
        if exchange.status == 0 {
            let first_byte = exchange.read_at.saturating_sub(exchange.started_at);
            exchange.stamp(http1::FIRST_BYTE, first_byte);
        }
        let (head, body) = response.into_parts();
        exchange.status = head.status.as_u16();
        check(&head.headers)?;
        if keep.head {
            write_head(head.status.as_u16(), &head.headers, &mut self.kept_head);
        }
        let coding = match head.headers.get(CONTENT_ENCODING) {
            Some(value) => coding(value.as_bytes()),
            None => Coding::Identity,
        };
        let sets_cookie = head.headers.contains_key(SET_COOKIE);
        let size = self.read_body(body, keep.body, exchange).await?;
        Ok(Answer { status: exchange.status, coding, size, sets_cookie })
    }

    async fn read_body<C: Clock>(
        &mut self,
        mut body: RecvStream,
        keep: KeepBody,
        exchange: &mut Exchange<C>,
    ) -> Result<u64, Failure> {
        let mut size = 0;
        while let Some(data) = poll_fn(|context| body.poll_data(context)).await {
            let data = data.map_err(|error| failure::of(&error, &self.ending))?;
            exchange.note_read();
            exchange.bytes_received += data.len() as u64;
            size += data.len() as u64;
            self.keep(&data, keep, size)?;
            // Of a stream that has ended there is nothing to give back.
            let _ = body.flow_control().release_capacity(data.len());
        }
        Ok(size)
    }

    fn keep(&mut self, data: &Bytes, keep: KeepBody, size: u64) -> Result<(), ProtocolError> {
        let kept = match keep {
            KeepBody::Nothing => return Ok(()),
            KeepBody::All if size > BODY_LIMIT as u64 => {
                return Err(ProtocolError::BodyTooLong(BODY_LIMIT));
            }
            KeepBody::All => data.len(),
            KeepBody::Beginning => data.len().min(BODY_LIMIT - self.kept_body.len()),
        };
        self.kept_body.extend_from_slice(&data[..kept]);
        Ok(())
    }
}

/// The limits that heads of HTTP/1.1 have.
fn check(fields: &HeaderMap) -> Result<(), ProtocolError> {
    if fields.len() > FIELDS_LIMIT {
        return Err(ProtocolError::TooManyFields(FIELDS_LIMIT));
    }
    let sizes = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES);
    if sizes.sum::<usize>() > HEAD_LIMIT {
        return Err(ProtocolError::HeadTooLong(HEAD_LIMIT));
    }
    Ok(())
}

/// A head as HTTP/1.1 writes one, which rules and parts of the target are read from.
fn write_head(status: u16, fields: &HeaderMap, out: &mut Vec<u8>) {
    write!(out, "HTTP/1.1 {status}\r\n").expect("writing to memory does not fail");
    for (name, value) in fields {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}
