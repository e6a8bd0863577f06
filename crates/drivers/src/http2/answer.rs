//! Handing over a request and reading its answer to the end.

use std::future::poll_fn;
use std::io::Write;

use engine::clock::Clock;
use engine::driver::Exchange;
use h2::RecvStream;
use http::header::{CONTENT_ENCODING, HeaderMap, SET_COOKIE};
use record::FailureKind;

use super::connection::{PreparedRequest, StreamSlot};
use super::failure;
use crate::http::FIRST_BYTE;
use crate::http::answer::{Answer, BodyPart, Failure, Keep};
use crate::http::head::{Coding, FIELDS_LIMIT, HEAD_LIMIT, coding};
use crate::http::protocol_error::ProtocolError;

/// What a field counts beside its name and value (RFC 9113 section 6.5.2).
const FIELD_BYTES: usize = 32;

impl StreamSlot {
    /// Hands over what was encoded and reads the answer to its end. Dropped before that, it resets the stream
    /// (`CANCEL`).
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn converse<C: Clock>(
        &mut self,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        // An empty text takes no memory.
        let prepared = std::mem::replace(&mut self.prepared, Err(String::new()));
        let PreparedRequest { head, body } = prepared.map_err(|why| Failure {
            kind: FailureKind::TooLarge,
            detail: format!("the request cannot be sent: {why}"),
        })?;
        let (response, mut sending) = self
            .handle
            .send
            .send_request(head, body.is_empty())
            .map_err(|error| failure::of(&error, &self.handle.ending))?;
        if !body.is_empty() {
            exchange.bytes_sent += body.len() as u64;
            sending
                .send_data(body, true)
                .map_err(|error| failure::of(&error, &self.handle.ending))?;
        }
        let response = response.await.map_err(|error| failure::of(&error, &self.handle.ending))?;
        exchange.note_read();
        // That of the first answer, where redirects are followed.
        if !exchange.status.is_some() {
            let first_byte = exchange.read_at.saturating_sub(exchange.started_at);
            exchange.stamp(FIRST_BYTE, first_byte);
        }
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        exchange.status = status.into();
        check(&head.headers)?;
        if keep.head {
            let kept = &mut self.progress.kept.head;
            kept.clear();
            write_head(status, &head.headers, kept);
        }
        let coding = match head.headers.get(CONTENT_ENCODING) {
            Some(value) => coding(value.as_bytes()),
            None => Coding::Identity,
        };
        let sets_cookie = head.headers.contains_key(SET_COOKIE);
        self.progress.kept.begin_body(keep, (status, coding), exchange);
        let size = self.read_body(body, keep, exchange).await?;
        let reusable = !self.handle.is_over();
        Ok(Answer { status, reusable, coding, size, sets_cookie })
    }

    async fn read_body<C: Clock>(
        &mut self,
        mut body: RecvStream,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<u64, Failure> {
        let mut size = 0;
        while let Some(data) = poll_fn(|context| body.poll_data(context)).await {
            let data = data.map_err(|error| failure::of(&error, &self.handle.ending))?;
            exchange.note_read();
            exchange.bytes_received += data.len() as u64;
            size += data.len() as u64;
            let part = BodyPart { data: &data, ends_chunk: true };
            self.progress.kept.take(part, keep, size, exchange)?;
            // Of a stream that has ended there is nothing to give back.
            let _ = body.flow_control().release_capacity(data.len());
        }
        Ok(size)
    }
}

/// The limits that heads of HTTP/1.1 have.
pub(crate) fn check(fields: &HeaderMap) -> Result<(), ProtocolError> {
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
pub(crate) fn write_head(status: u16, fields: &HeaderMap, out: &mut Vec<u8>) {
    write!(out, "HTTP/1.1 {status}\r\n").expect("writing to memory does not fail");
    for (name, value) in fields {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}
