//! A way to ask: what all of them promise, and the one judgement of what came back.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use crate::ask::Ask;

/// How a producer is asked.
pub trait Way: Send + Sync + 'static {
    /// `http`, `unix` or `channel`.
    fn name(&self) -> &'static str;

    /// Asks, waits for the answer until the deadline, and judges it: nonce and checksum are right
    /// in what is returned.
    ///
    /// May be called by many tasks at once. Dropping the future gives the question up.
    fn fetch(
        &self,
        ask: &Ask,
        deadline: Duration,
    ) -> impl Future<Output = Result<Fetched, Failure>> + Send;
}

/// An answer that was judged.
#[derive(Debug)]
pub struct Fetched {
    /// Its bytes; over the channel, in place.
    pub payload: Payload,
    /// CRC-32 of all of them.
    pub checksum: u32,
    /// From the call of [`Way::fetch`] until the answer was judged.
    pub took: Duration,
}

/// The bytes of an answer, wherever they lie.
pub struct Payload(Vec<u8>);

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Payload of {} bytes", self.len())
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody answers there, or who did is gone.
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
    #[error("too many ask at once")]
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
}
