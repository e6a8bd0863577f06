//! One operation performed once, with everything that was sent, received and expected, for people
//! to read.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};

use super::answer::{BODY_LIMIT, Failure, Keep, KeepBody};
use super::conversation::Conversation;
use super::operation::{Operation, received};
use crate::expect::answer_view;
use crate::probe::Probe;

/// Performs one operation on this connection and shows all of it.
///
/// The answer's body is without its framing, and decompressed where that is possible; both it and
/// the request are whole up to 16 MiB.
pub async fn probe<C: Clock>(
    operation: &Operation,
    conversation: &mut Conversation,
    call: &Call,
    exchange: &mut Exchange<C>,
) -> Probe {
    operation.encode(conversation, call);
    let keep = Keep { head: true, body: KeepBody::Beginning };
    exchange.started_at = exchange.now();
    let sent_request = operation.sent_request(conversation, exchange.started_at, keep);
    let request = [conversation.output.bytes.as_slice(), sent_request.tail].concat();
    let result = conversation.exchange(&sent_request, exchange).await;
    let (outcome, checks) = match &result {
        Ok(answer) => {
            let outcome = operation.outcome(answer, conversation, exchange);
            (outcome, operation.check.checks(&received(answer, conversation)))
        }
        Err(Failure { kind, detail }) => (exchange.fail(*kind, || detail.clone()), Vec::new()),
    };
    let raw = &conversation.kept_body;
    let decoded =
        result.ok().and_then(|answer| answer_view::decode(answer.coding, raw).ok().flatten());
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
