//! One exchange, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::channel::Channel;
use super::failure::Failure;
use super::operation::Operation;
use crate::http::answer::BODY_LIMIT;
use crate::probe::{NO_ANSWER, Probe, within};

/// Performs the encoded operation on this connection and shows all of it; the answer is whole up to 16 MiB.
pub async fn probe<C: Clock>(
    operation: &Operation,
    channel: &mut Channel,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.items.resize(operation.items.len(), f64::NAN);
    exchange.started_at = exchange.now();
    let answered =
        within(exchange, async |exchange| channel.exchange(operation.options, exchange).await);
    let answered = answered.await.unwrap_or_else(|kind| Err(Failure::new(kind, NO_ANSWER)));
    let (body, is_truncated, checks) = match &answered {
        Ok(answer) => {
            let checks = operation.checks(answer, channel);
            let shown = answer[..answer.len().min(BODY_LIMIT)].to_vec();
            let is_truncated = shown.len() < answer.len();
            (shown, is_truncated, checks)
        }
        Err(_) => (Vec::new(), false, Vec::new()),
    };
    let outcome = operation.outcome(answered, channel, exchange);
    Probe {
        request: channel.request.clone(),
        head: Vec::new(),
        body,
        is_truncated,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}
