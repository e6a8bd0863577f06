//! One message sent once, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::conversation::Conversation;
use super::operation::Operation;
use crate::probe::{CheckedExpectation, Probe, within};

/// Sends the encoded message on this connection, and takes leave. What was said is in the exchange's dialogue.
pub async fn probe<C: Clock>(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.items.resize(operation.items.len(), f64::NAN);
    exchange.is_last = true;
    exchange.started_at = exchange.now();
    let performed =
        within(exchange, async |exchange| operation.perform(conversation, exchange).await);
    let outcome = performed.await.unwrap_or_else(Outcome::Failed);
    let is_decided = exchange.status.is_some();
    let checks = if is_decided { checks(operation, exchange) } else { Vec::new() };
    Probe {
        request: Vec::new(),
        head: Vec::new(),
        body: Vec::new(),
        is_truncated: false,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}

fn checks<C: Clock>(operation: &Operation, exchange: &Exchange<C>) -> Vec<CheckedExpectation> {
    let status = CheckedExpectation {
        text: format!("status is {}", operation.statuses),
        holds: operation.statuses.contains(exchange.status.code()),
        seen: exchange.status.to_string(),
    };
    let items =
        operation.items.iter().zip(&exchange.items).map(|(item, value)| CheckedExpectation {
            text: format!("item {} is known", item.name()),
            holds: !value.is_nan(),
            seen: value.to_string(),
        });
    [status].into_iter().chain(items).collect()
}
