//! One operation sent once, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::operation::{Action, Operation};
use super::stream::MessageStream;
use crate::probe::{Probe, within};

/// Sends the encoded message and shows it and its reply.
pub async fn probe<C: Clock>(
    operation: &Operation,
    stream: &mut MessageStream,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.items.resize(operation.items.len(), f64::NAN);
    exchange.started_at = exchange.now();
    let performed = within(exchange, async |exchange| operation.perform(stream, exchange).await);
    let outcome = performed.await.unwrap_or_else(Outcome::Failed);
    let (head, body) = stream.reply();
    let has_reply = exchange.bytes_received > 0 && operation.action != Action::Publish;
    let checks = match has_reply && !exchange.status.is_some() {
        true => operation.evidence(stream).checks(&operation.rules, &operation.items),
        false => Vec::new(),
    };
    Probe {
        request: stream.encoded.command.clone(),
        head: head.to_vec(),
        body: body.to_vec(),
        is_truncated: false,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}
