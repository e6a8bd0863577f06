//! One operation performed once, with everything that was sent, received and expected, for people to read.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::answer::{Answer, BODY_LIMIT, Failure, Keep, KeepBody};
use super::answer_check::AnswerCheck;
use super::carrier::Carrier;
use super::operation::{Operation, received};
use super::request::without_credentials;
use crate::expect::decompression;
use crate::probe::Probe;

/// What a probe keeps of an answer.
pub fn keep(check: &AnswerCheck) -> Keep<'_> {
    Keep { head: true, body: KeepBody::Beginning, ..check.keep() }
}

/// A request as it is shown.
pub fn shown(request: Vec<u8>, is_confidential: bool) -> Vec<u8> {
    if is_confidential { without_credentials(&request) } else { request }
}

/// Shows all of an operation that was performed.
///
/// The answer's body is without its framing, and decompressed where that is possible; both it and the request are whole
/// up to 16 MiB.
pub fn ended<R, C: Clock>(
    operation: &Operation<R>,
    carrier: &impl Carrier<Request = R>,
    request: Vec<u8>,
    result: Result<Answer, Failure>,
    exchange: &mut Exchange<C>,
) -> Probe {
    let coding = result.as_ref().map(|answer| answer.coding).ok();
    let (outcome, mut checks) = match result {
        Ok(answer) => {
            let outcome = operation.outcome(&answer, carrier, exchange);
            (outcome, operation.check.checks(&received(&answer, carrier)))
        }
        Err(failure) => (failure.end(exchange), Vec::new()),
    };
    let progress = carrier.progress();
    checks.extend(progress.redirection.check(carrier.url(), exchange.onward.is_some()));
    let raw = &progress.kept.body;
    let decoded = coding.and_then(|coding| decompression::decode(coding, raw).ok().flatten());
    Probe {
        request,
        head: progress.kept.head.clone(),
        body: decoded.unwrap_or_else(|| raw.clone()),
        is_truncated: raw.len() == BODY_LIMIT,
        outcome,
        detail: exchange.detail.clone(),
        checks,
    }
}
