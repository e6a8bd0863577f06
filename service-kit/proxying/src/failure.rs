//! Why a request was not forwarded, or its answer not had; each reason has its status.

use std::io;

use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use crate::answer::Answer;
use crate::counts::{Count, Counts};

/// What stood in the way, before any byte of an answer was sent on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request's head cannot be forwarded.
    #[error("{1}")]
    Refused(StatusCode, &'static str),
    /// The request's body cannot be read to its end.
    #[error("the body of the request is broken")]
    BodyBroken,
    /// The request's body does not come.
    #[error("the body of the request did not come in time")]
    BodySlow,
    /// As many wait for a connection as may.
    #[error("too many requests are waiting")]
    QueueFull,
    /// No connection became free in time.
    #[error("no connection became free in time")]
    QueueSlow,
    /// The upstream cannot be connected to.
    #[error("the upstream cannot be reached: {0}")]
    Connect(io::Error),
    /// It cannot be connected to in time.
    #[error("the upstream was not reached in time")]
    ConnectSlow,
    /// It went away, or what it said is no answer.
    #[error("the upstream did not answer: {0}")]
    Upstream(hyper::Error),
    /// Its answer has a head that must not be passed on.
    #[error("the upstream's answer is not one: {0}")]
    Head(&'static str),
    /// No head of an answer within [`first_byte`](crate::Bounds::first_byte).
    #[error("the upstream did not begin to answer in time")]
    FirstByteSlow,
    /// No head of an answer within [`whole`](crate::Bounds::whole).
    #[error("the whole took too long")]
    WholeSlow,
}

impl Failure {
    /// The status to answer with.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Refused(status, _) => *status,
            Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::BodySlow => StatusCode::REQUEST_TIMEOUT,
            Self::QueueFull | Self::QueueSlow => StatusCode::SERVICE_UNAVAILABLE,
            Self::Connect(_) | Self::Upstream(_) | Self::Head(_) => StatusCode::BAD_GATEWAY,
            Self::ConnectSlow | Self::FirstByteSlow | Self::WholeSlow => {
                StatusCode::GATEWAY_TIMEOUT
            }
        }
    }

    /// The answer that says so, as text; `Retry-After: 1` where another try makes sense.
    pub fn answer<B: Send + 'static>(&self) -> Response<Answer<B>> {
        let mut answer = Response::new(Answer::whole(format!("{self}\n")));
        *answer.status_mut() = self.status();
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, text);
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }

    /// Where it is counted.
    pub(crate) fn count<'a>(&self, counts: &'a Counts) -> &'a Count {
        match self {
            Self::Refused(..) => &counts.refused,
            Self::BodyBroken => &counts.body_broken,
            Self::BodySlow => &counts.body_slow,
            Self::QueueFull => &counts.queue_full,
            Self::QueueSlow => &counts.queue_slow,
            Self::Connect(_) => &counts.connect_failed,
            Self::ConnectSlow => &counts.connect_slow,
            Self::Upstream(_) | Self::Head(_) => &counts.upstream_broken,
            Self::FirstByteSlow => &counts.first_byte_slow,
            Self::WholeSlow => &counts.whole_slow,
        }
    }
}
