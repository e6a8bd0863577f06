//! Why a request was not forwarded, or got no answer; each reason has its status.

use std::io;

use hyper::StatusCode;

use crate::counts::{Count, Counts};

/// Why there is no answer; none of its bytes was sent on.
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
    /// The queue for connections is full.
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
    /// It closed the connection, or did not send a valid answer.
    #[error("the upstream did not answer: {0}")]
    Upstream(hyper::Error),
    /// Its answer has a head that must not be passed on.
    #[error("the upstream's answer is not valid: {0}")]
    Head(&'static str),
    /// No head of an answer within [`first_byte`](crate::Bounds::first_byte).
    #[error("the upstream did not begin to answer in time")]
    FirstByteSlow,
    /// No head of an answer within [`whole`](crate::Bounds::whole).
    #[error("the exchange took too long")]
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
