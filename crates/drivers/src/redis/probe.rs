//! One command sent once, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::codec::text;
use super::operation::Operation;
use super::stream::CommandStream;
use crate::probe::{Probe, within};

/// Sends the encoded command and shows it and its reply as redis-cli does.
pub async fn probe<C: Clock>(
    operation: &Operation,
    stream: &mut CommandStream,
    exchange: &mut Exchange<C>,
) -> Probe {
    exchange.items.resize(operation.items.len(), f64::NAN);
    exchange.started_at = exchange.now();
    let performed = within(exchange, async |exchange| operation.perform(stream, exchange).await);
    let outcome = performed.await.unwrap_or_else(Outcome::Failed);
    let shown = text::shown(&stream.reply);
    let is_value = !stream.reply.is_empty() && !exchange.status.is_some();
    let checks = match is_value {
        true => operation.evidence(stream).checks(&operation.rules, &operation.items),
        false => Vec::new(),
    };
    Probe {
        request: text::typed(&stream.command).into_bytes(),
        head: Vec::new(),
        body: shown.into_bytes(),
        is_truncated: false,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}
