//! Sending a call and reading its messages and trailers.

use std::future::poll_fn;

use engine::clock::Clock;
use engine::driver::Exchange;
use h2::RecvStream;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use record::FailureKind;

use super::FIRST_BYTE;
use super::code::Code;
use super::json;
use super::operation::Operation;
use super::stream::{CallStream, Kept};
use crate::http::answer::{Failure, Keep, KeepBody};
use crate::http::head::Coding;
use crate::http::stream::reading::cut_short;
use crate::http2::answer::{check, write_head};
use crate::http2::connection::PreparedRequest;
use crate::http2::connection_end::ConnectionEnd;
use crate::http2::failure;

const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";

impl CallStream {
    /// Hands over what was encoded and reads the answer to its end. Dropped before that, it resets the stream
    /// (`CANCEL`).
    ///
    /// Shape:  → the status of the call
    /// Errors: there is no complete answer
    pub async fn converse<C: Clock>(
        &mut self,
        operation: &Operation,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Code, Failure> {
        let answered = self.exchange(operation, keep, exchange).await;
        let Some(rules) = keep.stream.filter(|_| self.kept.stream.is_begun()) else {
            return answered;
        };
        self.kept.stream.stamp(rules, exchange);
        answered.map_err(|failure| cut_short(failure, &self.kept.stream))
    }

    async fn exchange<C: Clock>(
        &mut self,
        operation: &Operation,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Code, Failure> {
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
            .map_err(|error| failed(&error, &self.handle.ending, exchange))?;
        if !body.is_empty() {
            exchange.bytes_sent += body.len() as u64;
            let sent = sending.send_data(body, true);
            sent.map_err(|error| failed(&error, &self.handle.ending, exchange))?;
        }
        let response = response.await;
        let response = response.map_err(|error| failed(&error, &self.handle.ending, exchange))?;
        exchange.note_read();
        exchange.stamp(FIRST_BYTE, exchange.read_at.saturating_sub(exchange.started_at));
        let (head, body) = response.into_parts();
        check(&head.headers)?;
        if let Some(what) = foreign(&head) {
            exchange.status = head.status.as_u16().into();
            return Err(malformed(what));
        }
        if let Some(rules) = keep.stream {
            self.kept.stream.begin(rules, head.status.as_u16(), Coding::Identity);
        }
        let trailers = if body.is_end_stream() {
            None
        } else {
            Some(self.read(body, operation, keep, exchange).await?)
        };
        self.end(head.headers, trailers, keep, exchange)
    }

    /// Reads messages and trailers.
    async fn read<C: Clock>(
        &mut self,
        mut body: RecvStream,
        operation: &Operation,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<HeaderMap, Failure> {
        let Self { handle, kept, .. } = self;
        let keeps_bytes =
            keep.body != KeepBody::Nothing || keep.stream.is_some_and(|rules| rules.reads_data());
        let limits = (keeps_bytes, operation.max_message);
        while let Some(data) = poll_fn(|context| body.poll_data(context)).await {
            let data = data.map_err(|error| failed(&error, &handle.ending, exchange))?;
            exchange.note_read();
            exchange.bytes_received += data.len() as u64;
            let mut deframer = std::mem::take(&mut kept.deframer);
            let taken = deframer.take(&data, limits, |message, length| {
                kept.take((message, length), operation, keep, exchange)
            });
            kept.deframer = deframer;
            taken?;
            // Of a stream that has ended there is nothing to give back.
            let _ = body.flow_control().release_capacity(data.len());
        }
        let trailers = poll_fn(|context| body.poll_trailers(context)).await;
        let trailers = trailers.map_err(|error| failed(&error, &handle.ending, exchange))?;
        exchange.note_read();
        trailers.ok_or_else(|| {
            let messages = crate::http::stream::reading::counted(kept.count, "message");
            malformed(format!("the answer ended after {messages} without trailers"))
        })
    }

    /// Takes the status, from the trailers or from a head that is all there is.
    fn end<C: Clock>(
        &mut self,
        head: HeaderMap,
        trailers: Option<HeaderMap>,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Code, Failure> {
        let last = trailers.as_ref().unwrap_or(&head);
        check(last)?;
        let field = last
            .get(STATUS)
            .ok_or_else(|| malformed(format!("the answer ended without the field {STATUS}")))?;
        let code = Code::parse(field.as_bytes()).ok_or_else(|| {
            let text = String::from_utf8_lossy(field.as_bytes());
            malformed(format!("{STATUS} is {:?}", plan::printable::shortened(&text)))
        })?;
        exchange.status = code.status();
        self.kept.code = Some(code);
        if let Some(message) = last.get(MESSAGE) {
            self.kept.message.extend_from_slice(message.as_bytes());
        }
        if keep.head {
            let mut metadata = head;
            metadata.extend(trailers.unwrap_or_default());
            write_head(200, &metadata, &mut self.kept.head);
            self.kept.metadata = metadata;
        }
        Ok(code)
    }
}

impl Kept {
    /// Takes a message and its length; it came with the last read.
    fn take<C: Clock>(
        &mut self,
        (message, length): (&[u8], usize),
        operation: &Operation,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        self.count += 1;
        self.size += length as u64;
        if self.count > 1 && operation.check.stream.is_none() {
            return Err(malformed("a second message from a method that answers with one".into()));
        }
        let mut begin = self.json.len();
        if keep.body == KeepBody::Nothing {
            self.json.clear();
            begin = 0;
        } else if begin > 0 {
            self.json.push(b'\n');
            begin += 1;
        }
        if keep.body != KeepBody::Nothing || keep.stream.is_some_and(|rules| rules.reads_data()) {
            json::append(&operation.answer, message, &mut self.json)?;
        }
        if let Some(rules) = keep.stream {
            self.stream.event(rules, &self.json[begin..], exchange);
        }
        Ok(())
    }
}

/// Why an answer with this head is none of gRPC, if so.
fn foreign(head: &Parts) -> Option<String> {
    let kind = head.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    let is_grpc =
        kind.and_then(|kind| kind.strip_prefix(b"application/grpc")).is_some_and(|rest| match rest
            .first()
        {
            Some(b'+') => rest
                .strip_prefix(b"+proto")
                .is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric)),
            first => matches!(first, None | Some(b';' | b' ')),
        });
    // An intermediary may give a status of HTTP as well.
    if head.headers.contains_key(STATUS) || (is_grpc && head.status.as_u16() == 200) {
        return None;
    }
    let kind = kind.map_or("no content-type".into(), |kind| {
        let kind = String::from_utf8_lossy(kind);
        format!("content-type {:?}", plan::printable::shortened(&kind))
    });
    Some(format!("not a gRPC answer: HTTP status {} with {kind}", head.status.as_u16()))
}

/// The failure that this error stands for; a reset has a status, too.
fn failed<C: Clock>(
    error: &h2::Error,
    ending: &ConnectionEnd,
    exchange: &mut Exchange<C>,
) -> Failure {
    let failure = failure::of(error, ending);
    match error.reason().filter(|_| error.is_reset() && error.is_remote()) {
        Some(reason) => {
            let code = Code::of_reset(reason);
            exchange.status = code.status();
            Failure { detail: format!("{} ({code})", failure.detail), ..failure }
        }
        None => failure,
    }
}

fn malformed(detail: String) -> Failure {
    Failure { kind: FailureKind::Malformed, detail }
}
