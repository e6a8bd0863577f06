//! One operation performed once, and shown.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::conversation::Conversation;
use super::driver::Operation;
use crate::http::answer::Failure;
use crate::http::carrier::Carrier;
use crate::http::probe::{ended, keep, shown};
use crate::http::request::Piece;
use crate::probe::{NO_ANSWER, Probe, within};

/// Performs the encoded operation on this connection and shows all of it; where it followed redirects, its last request
/// and answer.
pub async fn probe<C: Clock>(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.started_at = exchange.now();
    let keep = keep(&operation.check);
    let result =
        within(exchange, async |exchange| operation.exchange(conversation, keep, exchange).await);
    let result =
        result.await.unwrap_or_else(|kind| Err(Failure { kind, detail: NO_ANSWER.to_owned() }));
    let sent = operation.request(conversation.progress());
    let request = [conversation.output.bytes.as_slice(), sent.tail()].concat();
    let request = shown(request, sent.head.iter().any(Piece::is_confidential));
    ended(operation, conversation, request, result, exchange)
}
