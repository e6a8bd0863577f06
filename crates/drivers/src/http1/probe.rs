//! One operation performed once, with everything that was sent, received and expected, for people
//! to read.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::answer::{BODY_LIMIT, Keep, KeepBody};
use super::conversation::Conversation;
use super::operation::{Operation, received};
use super::request::{Piece, without_credentials};
use crate::expect::decompression;
use crate::probe::Probe;

/// Performs the encoded operation on this connection and shows all of it; where it followed redirects, its last request and
/// answer.
///
/// The answer's body is without its framing, and decompressed where that is possible; both it and
/// the request are whole up to 16 MiB.
pub async fn probe<C: Clock>(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<C>,
) -> Probe {
    let keep = Keep { head: true, body: KeepBody::Beginning };
    exchange.started_at = exchange.now();
    let result = operation.exchange(conversation, keep, exchange).await;
    let sent = operation.request(conversation);
    let mut request = [conversation.output.bytes.as_slice(), sent.tail()].concat();
    if sent.head.iter().any(Piece::is_confidential) {
        request = without_credentials(&request);
    }
    let coding = result.as_ref().map(|answer| answer.coding).ok();
    let (outcome, mut checks) = match result {
        Ok(answer) => {
            let outcome = operation.outcome(&answer, conversation, exchange);
            (outcome, operation.check.checks(&received(&answer, conversation)))
        }
        Err(failure) => (failure.end(exchange), Vec::new()),
    };
    let is_left = exchange.onward.is_some();
    checks.extend(conversation.redirection.check(conversation.url(), is_left));
    let raw = &conversation.kept_body;
    let decoded = coding.and_then(|coding| decompression::decode(coding, raw).ok().flatten());
    Probe {
        request,
        head: conversation.kept_head.clone(),
        body: decoded.unwrap_or_else(|| raw.clone()),
        is_truncated: raw.len() == BODY_LIMIT,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}
