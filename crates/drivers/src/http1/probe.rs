//! One operation performed once, with everything that was sent, received and expected, for people
//! to read.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};

use super::answer::{Answer, BODY_LIMIT, Failure, Keep, KeepBody};
use super::conversation::Conversation;
use super::operation::Operation;
use crate::expect::evidence;
use crate::probe::{Check, Probe};

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
    let question = operation.question(conversation, exchange.started_at, keep);
    let request = [conversation.output.bytes.as_slice(), question.tail].concat();
    let result = conversation.ask(&question, exchange).await;
    let (outcome, checks) = match &result {
        Ok(answer) => {
            let outcome = operation.judge(answer, conversation, exchange);
            (outcome, checks(operation, answer, conversation))
        }
        Err(Failure { kind, detail }) => (exchange.fail(*kind, || detail.clone()), Vec::new()),
    };
    let raw = &conversation.kept_body;
    let decoded =
        result.ok().and_then(|answer| evidence::decode(answer.coding, raw).ok().flatten());
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

/// Every expectation with what was seen.
fn checks(operation: &Operation, answer: &Answer, conversation: &Conversation) -> Vec<Check> {
    let mut checks = vec![Check {
        text: format!("status is {}", operation.statuses),
        holds: operation.statuses.contains(answer.status),
        seen: answer.status.to_string(),
    }];
    let raw = &conversation.kept_body;
    let decoded = evidence::decode(answer.coding, raw).ok().flatten();
    let body = decoded.as_deref().unwrap_or(raw);
    let evidence = operation.evidence(answer, conversation, body);
    checks.extend(evidence.checks(&operation.rules, &operation.items));
    for (name, time) in operation.told.by_name(&conversation.kept_head) {
        let seen = time.map_or("no time".to_owned(), |time| format!("{} ms", time as f64 / 1e6));
        checks.push(Check {
            text: format!("Server-Timing tells of {name}"),
            holds: time.is_some(),
            seen,
        });
    }
    checks
}
