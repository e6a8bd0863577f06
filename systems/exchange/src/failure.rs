//! Why a request has no answer.

use std::fmt;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// There is no producer at the address, or it has ended.
    #[error("the producer cannot be reached: {0}")]
    Unreachable(String),
    /// The question was sent, and its answer did not come in time.
    #[error("no answer in time")]
    Deadline,
    /// The producer understood something else, or does not want to.
    #[error("refused: {0}")]
    Refused(String),
    /// What came is not what was asked for.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Too many ask at once: no connection, slot or memory was free in time.
    #[error("too many requests at a time")]
    Crowded,
}

impl Failure {
    /// One stable word: `unreachable`, `deadline`, `refused`, `damaged` or `crowded`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Deadline => "deadline",
            Self::Refused(_) => "refused",
            Self::Damaged(_) => "damaged",
            Self::Crowded => "crowded",
        }
    }

    /// For `map_err`: the producer cannot be reached.
    pub(crate) fn unreachable(error: impl fmt::Display) -> Self {
        Self::Unreachable(error.to_string())
    }
}
