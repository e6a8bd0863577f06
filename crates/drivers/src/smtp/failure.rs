//! Why there is no accepted message.

use engine::transport::failure_kind;
use record::FailureKind;

use super::codec::reply::{Class, Reply, ReplyError, enhanced, shown};

/// The reply with which a server ends the session, to any command (RFC 5321 section 3.8).
const CLOSING: u16 = 421;

/// What failed, and what is left of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
    /// The code that decided; 0 if no reply did.
    pub code: u16,
    /// Whether both sides still agree on what comes next.
    pub in_step: bool,
}

impl Failure {
    /// A failure that leaves client and server out of step.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), code: 0, in_step: false }
    }

    /// The server does not offer what the experiment wants to use.
    pub fn not_offered(what: &str) -> Self {
        Self {
            in_step: true,
            ..Self::new(FailureKind::WrongContent, format!("the server does not offer {what}"))
        }
    }

    /// A complete reply that is not the one hoped for; `to` is what it answers.
    pub fn refusal(to: &str, reply: Reply, text: &[u8]) -> Self {
        let kind = match reply.class() {
            Class::Transient => FailureKind::Transient,
            Class::Permanent => FailureKind::Permanent,
            Class::Done | Class::GoOn => FailureKind::Status,
        };
        let at_odds = match enhanced(text) {
            Some((class, ..)) if class != reply.code / 100 => {
                ", whose two codes contradict each other"
            }
            _ => "",
        };
        Self {
            kind,
            detail: format!("{to}: {}{at_odds}", shown(text)),
            code: reply.code,
            in_step: kind != FailureKind::Status && reply.code != CLOSING,
        }
    }

    /// Whether the server refused, in a well-formed reply.
    pub fn is_refusal(&self) -> bool {
        matches!(self.kind, FailureKind::Transient | FailureKind::Permanent)
    }

    /// The stream failed in the midst of something.
    pub fn of_stream(error: &std::io::Error) -> Self {
        Self::new(failure_kind(error), format!("the connection failed: {error}"))
    }
}

impl From<ReplyError> for Failure {
    fn from(fault: ReplyError) -> Self {
        Self::new(fault.kind(), fault.to_string())
    }
}
