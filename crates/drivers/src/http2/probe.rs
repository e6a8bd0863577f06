//! One operation performed once, and shown.

use std::io::Write;

use engine::clock::Clock;
use engine::driver::Exchange;

use super::connection::{PreparedRequest, StreamSlot};
use super::operation::Operation;
use crate::http::answer::Failure;
use crate::http::carrier::Carrier;
use crate::http::probe::{ended, keep, shown};
use crate::probe::{NO_ANSWER, Probe, within};

/// Performs the encoded operation on this connection and shows all of it.
///
/// Where it followed redirects, that is its first request here and its last answer. Heads are shown as fields, not as
/// they are compressed; bodies as by HTTP/1.1.
pub async fn probe<C: Clock>(
    operation: &Operation,
    slot: &mut StreamSlot,
    exchange: &mut Exchange<C>,
) -> Probe {
    let meaning = &operation.meaning;
    let request = slot.prepared.as_ref().map(as_fields).unwrap_or_default();
    let request = shown(request, meaning.request(slot.progress()).is_confidential());
    exchange.started_at = exchange.now();
    let keep = keep(&meaning.check);
    let result = within(exchange, async |exchange| meaning.exchange(slot, keep, exchange).await);
    let result =
        result.await.unwrap_or_else(|kind| Err(Failure { kind, detail: NO_ANSWER.to_owned() }));
    let probe = ended(meaning, slot, request, result, exchange);
    exchange.reusable = !slot.handle.is_over();
    Probe { head: shown_head(&probe.head), ..probe }
}

/// A request with its fields as they are meant.
fn as_fields(prepared: &PreparedRequest) -> Vec<u8> {
    let PreparedRequest { head, body } = prepared;
    let uri = head.uri();
    let pseudo = [
        (":method", head.method().as_str()),
        (":scheme", uri.scheme_str().unwrap_or_default()),
        (":authority", uri.authority().map_or("", |authority| authority.as_str())),
        (":path", uri.path_and_query().map_or("", |path| path.as_str())),
    ];
    let pseudo = pseudo.into_iter().map(|(name, value)| (name, value.as_bytes()));
    let fields = head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let mut out = Vec::new();
    for (name, value) in pseudo.chain(fields) {
        write!(out, "{name}: ").expect("writing to memory does not fail");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// The status as HTTP/2 says it.
fn shown_head(head: &[u8]) -> Vec<u8> {
    match head.strip_prefix(b"HTTP/1.1") {
        Some(rest) => [b":status:".as_slice(), rest].concat(),
        None => Vec::new(),
    }
}
