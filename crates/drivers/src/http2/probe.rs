//! One operation performed once, with everything that was sent, received and expected, for people to read.

use std::io::Write;

use engine::clock::Clock;
use engine::driver::Exchange;

use super::connection::{PreparedRequest, StreamSlot};
use super::operation::{Operation, received};
use crate::expect::decompression;
use crate::http1::answer::{BODY_LIMIT, Keep, KeepBody};
use crate::http1::request::without_credentials;
use crate::probe::Probe;

/// Performs the encoded operation on this connection and shows all of it.
///
/// Where it followed redirects, that is its first request here and its last answer. Heads are shown as fields, not as
/// they are compressed; bodies as by HTTP/1.1.
pub async fn probe<C: Clock>(
    operation: &Operation,
    slot: &mut StreamSlot,
    exchange: &mut Exchange<C>,
) -> Probe {
    let mut request = slot.prepared.as_ref().map(shown).unwrap_or_default();
    if operation.request(slot).is_confidential() {
        request = without_credentials(&request);
    }
    exchange.started_at = exchange.now();
    let keep = Keep { head: true, body: KeepBody::Beginning };
    let result = operation.exchange(slot, keep, exchange).await;
    let coding = result.as_ref().map(|answer| answer.coding).ok();
    let (outcome, mut checks) = match result {
        Ok(answer) => {
            let seen = received(&answer, slot);
            (operation.check.outcome(&seen, exchange), operation.check.checks(&seen))
        }
        Err(failure) => (failure.end(exchange), Vec::new()),
    };
    checks.extend(slot.redirection.check(slot.url(), exchange.onward.is_some()));
    exchange.reusable = !slot.is_over();
    let raw = &slot.kept_body;
    let decoded = coding.and_then(|coding| decompression::decode(coding, raw).ok().flatten());
    Probe {
        request,
        head: shown_head(&slot.kept_head),
        body: decoded.unwrap_or_else(|| raw.clone()),
        is_truncated: raw.len() == BODY_LIMIT,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}

/// A request with its fields as they are meant.
fn shown(prepared: &PreparedRequest) -> Vec<u8> {
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
