//! What one operation sent, received and was held against, for `check --try`.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::{FailureKind, Outcome};

/// One operation, shown whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Every byte sent.
    pub request: Vec<u8>,
    /// Head of the answer as received; empty where there was none.
    pub head: Vec<u8>,
    /// Body of the answer without framing and compression.
    pub body: Vec<u8>,
    /// Whether the body is only its beginning.
    pub is_truncated: bool,
    /// How the operation ended.
    pub outcome: Outcome,
    /// What exactly failed.
    pub detail: Option<String>,
    /// Each expectation, met or not; empty without a complete answer.
    pub checks: Vec<CheckedExpectation>,
}

/// Performs until the exchange gives up; then the kind of failure.
pub async fn within<C: Clock, T>(
    exchange: &mut Exchange<C>,
    performing: impl AsyncFnOnce(&mut Exchange<C>) -> T,
) -> Result<T, FailureKind> {
    let (clock, at) = (exchange.clock().clone(), exchange.gives_up_at);
    let given_up = async {
        match at {
            Some(at) => clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        biased;
        ended = performing(exchange) => Some(ended),
        () = given_up => None,
    };
    ended.ok_or_else(|| {
        exchange.reusable = false;
        exchange.detail = Some(NO_ANSWER.to_owned());
        exchange.timeout_kind
    })
}

/// Said of an answer that does not come in time.
pub const NO_ANSWER: &str = "no complete answer within the time-out";

/// One expectation held against an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedExpectation {
    /// What was expected.
    pub text: String,
    /// Whether it is so.
    pub holds: bool,
    /// What was seen.
    pub seen: String,
}
