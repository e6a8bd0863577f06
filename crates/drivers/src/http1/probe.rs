//! One operation performed once, and shown.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::conversation::Conversation;
use super::driver::Operation;
use crate::http::carrier::Carrier;
use crate::http::probe::{ended, keep, shown};
use crate::http::request::Piece;
use crate::probe::Probe;

/// Performs the encoded operation on this connection and shows all of it; where it followed redirects, its last request
/// and answer.
pub async fn probe<C: Clock>(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.started_at = exchange.now();
    let result = operation.exchange(conversation, keep(&operation.check), exchange).await;
    let sent = operation.request(conversation.progress());
    let request = [conversation.output.bytes.as_slice(), sent.tail()].concat();
    let request = shown(request, sent.head.iter().any(Piece::is_confidential));
    ended(operation, conversation, request, result, exchange)
}
