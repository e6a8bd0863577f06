//! One call performed once, for people to read.

use std::io::Write;

use engine::clock::Clock;
use engine::driver::Exchange;
use http::HeaderMap;
use record::Outcome;

use super::frame::Deframer;
use super::json;
use super::operation::{Operation, said};
use super::stream::CallStream;
use crate::http::answer::{Keep, KeepBody};
use crate::http2::connection::PreparedRequest;
use crate::probe::{CheckedExpectation, Probe, within};

/// Sends the encoded call and shows its messages and those of the answer as JSON.
pub async fn probe<C: Clock>(
    operation: &Operation,
    stream: &mut CallStream,
    exchange: &mut Exchange<C>,
) -> Probe {
    let request = stream.prepared.as_ref().map(|sent| shown(operation, sent)).unwrap_or_default();
    exchange.items.resize(operation.check.items.len(), f64::NAN);
    exchange.started_at = exchange.now();
    let keep =
        Keep { head: true, body: KeepBody::Beginning, stream: operation.check.stream.as_ref() };
    let performed =
        within(exchange, async |exchange| operation.perform_keeping(keep, stream, exchange).await);
    let outcome = performed.await.unwrap_or_else(Outcome::Failed);
    let mut head = Vec::new();
    let mut checks = Vec::new();
    if let Some(code) = stream.kept.code {
        let _ = write!(head, "{}\r\n", said(code, stream));
        append_fields(&stream.kept.metadata, &mut head);
        checks.push(CheckedExpectation {
            text: format!("status is {}", operation.expected_codes()),
            holds: operation.codes.contains(&code),
            seen: code.to_string(),
        });
        checks.extend(operation.check.checks(&operation.received(stream)).into_iter().skip(1));
    }
    Probe {
        request,
        head,
        body: stream.kept.json.clone(),
        is_truncated: false,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}

/// The call with its metadata, and each message on a line.
fn shown(operation: &Operation, sent: &PreparedRequest) -> Vec<u8> {
    let mut out = format!("{}\r\n", operation.method).into_bytes();
    append_fields(sent.head.headers(), &mut out);
    let mut deframer = Deframer::default();
    // What was encoded here has no errors.
    let _ = deframer.take(&sent.body, (true, usize::MAX), |message, _| {
        out.extend_from_slice(b"\r\n");
        json::append(&operation.request.descriptor, message, &mut out)
    });
    out
}

/// Metadata, without what every call has.
fn append_fields(fields: &HeaderMap, out: &mut Vec<u8>) {
    const OF_EVERY_CALL: [&str; 6] =
        ["content-type", "te", "user-agent", "grpc-accept-encoding", "grpc-status", "grpc-message"];
    for (name, value) in fields {
        if !OF_EVERY_CALL.contains(&name.as_str()) {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(if value.is_sensitive() {
                b"(hidden)"
            } else {
                value.as_bytes()
            });
            out.extend_from_slice(b"\r\n");
        }
    }
}
