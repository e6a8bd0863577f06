//! Why there is no answer that can be used.

use engine::transport::failure_kind;
use record::FailureKind;
use shm_channel::Error;

/// What failed, and what is left of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
    /// The number with which the producer refused; 0 if it did not, or it is no number of two bytes.
    pub status: u16,
    /// Whether the connection may carry another operation.
    pub in_step: bool,
}

impl Failure {
    /// A failure after which the connection is of no use.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), status: 0, in_step: false }
    }

    /// A complete answer that is not what it must be.
    pub fn of_content(detail: String) -> Self {
        Self { in_step: true, ..Self::new(FailureKind::WrongContent, detail) }
    }

    /// A complete answer that is longer than what is read of one.
    pub fn too_large(detail: String) -> Self {
        Self { in_step: true, ..Self::new(FailureKind::TooLarge, detail) }
    }

    /// The request could not be sent.
    pub fn unsent(error: Error) -> Self {
        match error {
            Error::TooLarge { .. } => Self {
                in_step: true,
                ..Self::new(FailureKind::TooLarge, format!("beyond all of the channel: {error}"))
            },
            // Nothing was sent, and others of the connection have their slots.
            Error::NoSlot { .. } => Self { in_step: true, ..error.into() },
            error => error.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let told = error.to_string();
        match error {
            Error::Refused(code) => Self {
                status: u16::try_from(code).unwrap_or(0),
                in_step: true,
                ..Self::new(FailureKind::Status, told)
            },
            Error::TooLarge { .. } => Self {
                in_step: true,
                ..Self::new(FailureKind::TooLarge, format!("{told}: `room` lends more"))
            },
            Error::Gone => Self::new(FailureKind::Closed, told),
            Error::Crowded { .. } | Error::ProducerFailed => {
                Self::new(FailureKind::Transient, told)
            }
            Error::OtherUser | Error::Version { .. } => Self::new(FailureKind::Permanent, told),
            Error::Io { source, .. } => Self::new(failure_kind(&source), told),
            Error::NoSlot { .. } => {
                let why = "the streams of the connection want more room than the producer gave it";
                Self::new(FailureKind::LocalLimit, format!("{told}: {why}"))
            }
            Error::Deadline => Self::new(FailureKind::Timeout, told),
            Error::NotAProducer
            | Error::Damaged(_)
            | Error::Settings(_)
            | Error::InUse(_)
            | Error::NotASocket(_)
            | Error::LongPath(_) => Self::new(FailureKind::Malformed, told),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(failure_kind(&error), error.to_string())
    }
}
