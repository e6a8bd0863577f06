//! From what went wrong on a stream or its connection to a kind of failure.
//!
//! Source: RFC 9113 sections 5.4, 6.4, 6.8, 7

use std::io::ErrorKind;

use engine::transport::failure_kind;
use h2::{Error, Reason};
use record::FailureKind;

use super::connection_end::ConnectionEnd;
use crate::http::answer::Failure;

/// The failure that this error stands for.
pub fn of(error: &Error, ending: &ConnectionEnd) -> Failure {
    if ending.speaks_http1() {
        let detail = "the peer answers HTTP/1.1, not HTTP/2: ask it with `http`".to_owned();
        return Failure { kind: FailureKind::Malformed, detail };
    }
    let (kind, what) = match error.get_io() {
        Some(io) => (of_io(io), "the connection failed"),
        None => of_protocol(error),
    };
    Failure { kind, detail: format!("{what}: {error}") }
}

/// The crate says `BrokenPipe` where the peer has closed.
fn of_io(error: &std::io::Error) -> FailureKind {
    match error.kind() {
        ErrorKind::BrokenPipe => FailureKind::Closed,
        // What TLS does not accept; the crate keeps the kind of an error alone.
        ErrorKind::InvalidData => FailureKind::Tls,
        _ => failure_kind(error),
    }
}

fn of_protocol(error: &Error) -> (FailureKind, &'static str) {
    match (error.is_go_away(), error.is_reset(), error.is_remote()) {
        (true, _, true) => (FailureKind::GoingAway, "the peer is ending the connection"),
        (true, _, false) => (FailureKind::Malformed, "the peer broke a rule of the connection"),
        (_, true, true) if error.reason() == Some(Reason::REFUSED_STREAM) => {
            (FailureKind::StreamRefused, "the peer refused the stream")
        }
        (_, true, true) => (FailureKind::StreamReset, "the peer reset the stream"),
        (_, true, false) => (FailureKind::Malformed, "the peer broke a rule of the stream"),
        (false, false, _) => (FailureKind::Malformed, "the request cannot be sent"),
    }
}
