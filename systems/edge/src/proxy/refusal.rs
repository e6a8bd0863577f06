//! Why the upstream did not answer a request, and what is answered in its place.

use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use proxying::{Answer, Failure};

use super::breaker::Outcome;
use super::outgoing::Sent;

/// What stood in the way.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The route's breaker, for so long.
    Breaker(Duration),
    Failure(Failure),
}

/// What a failure says of the upstream.
pub(super) fn outcome(failure: &Failure) -> Outcome {
    match failure {
        Failure::Connect(_)
        | Failure::ConnectSlow
        | Failure::Upstream(_)
        | Failure::Head(_)
        | Failure::FirstByteSlow
        | Failure::WholeSlow => Outcome::Failed,
        // The client's doing, or that of too many of them.
        Failure::Refused(..)
        | Failure::BodyBroken
        | Failure::BodySlow
        | Failure::QueueFull
        | Failure::QueueSlow => Outcome::Unknown,
    }
}

impl Refusal {
    /// Whether a stored answer may be given in its place: nothing is wrong with the request.
    pub fn is_not_the_clients(&self) -> bool {
        match self {
            Self::Breaker(_) | Self::Failure(Failure::QueueFull | Failure::QueueSlow) => true,
            Self::Failure(failure) => outcome(failure) == Outcome::Failed,
        }
    }

    /// The answer that says so.
    pub fn answer(&self) -> Response<Answer<Sent>> {
        match self {
            Self::Failure(failure) => Answer::of_failure(failure),
            Self::Breaker(wait) => {
                let text = "the upstream failed too often; the proxy does not ask it until its breaker closes\n";
                let mut answer = text_answer(StatusCode::SERVICE_UNAVAILABLE, text);
                // Whole seconds, and none of them too early.
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                answer.headers_mut().insert(RETRY_AFTER, seconds.max(1).into());
                answer
            }
        }
    }
}

/// An answer of the proxy's own, as text.
pub(super) fn text_answer(
    status: StatusCode,
    text: impl Into<hyper::body::Bytes>,
) -> Response<Answer<Sent>> {
    let mut answer = Response::new(Answer::whole(text));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
