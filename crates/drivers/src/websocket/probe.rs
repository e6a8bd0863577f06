//! One operation performed once, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::driver::Conversation;
use super::operation::{Operation, view};
use crate::http::request::without_credentials;
use crate::probe::{Probe, within};

/// Opens the socket and shows the handshake, or sends the encoded message and shows it and its answer.
pub async fn probe<C: Clock>(
    operation: &Operation,
    stream: &mut Conversation,
    exchange: &mut Exchange<C>,
) -> Probe {
    let rows = operation.rows.as_deref();
    let mut probe = Probe {
        request: Vec::new(),
        head: Vec::new(),
        body: Vec::new(),
        is_truncated: false,
        outcome: Outcome::Succeeded,
        detail: None,
        checks: Vec::new(),
    };
    match (stream, &operation.ask) {
        (Conversation::Open(opening), _) => {
            exchange.started_at = exchange.now();
            let opened = within(exchange, async |exchange| operation.open(opening, exchange).await);
            probe.outcome = opened.await.unwrap_or_else(Outcome::Failed);
            probe.request = without_credentials(&opening.request.bytes);
            probe.head.clone_from(&opening.answer.head);
            probe.body.clone_from(&opening.answer.rest);
        }
        (Conversation::Ask(stream), Some(ask)) => {
            exchange.items.resize(ask.items.len(), f64::NAN);
            exchange.started_at = exchange.now();
            let asked =
                within(exchange, async |exchange| ask.perform(rows, stream, exchange).await);
            probe.outcome = asked.await.unwrap_or_else(Outcome::Failed);
            probe.request.clone_from(&stream.message);
            probe.body.clone_from(&stream.answer);
            if !stream.answer.is_empty() {
                probe.checks = view(rows, stream).checks(&ask.rules, &ask.items);
            }
        }
        (Conversation::Ask(_), None) => unreachable!("a stream that does not fit"),
    }
    probe.detail.clone_from(&exchange.detail);
    probe
}
