//! A way to ask: what all of them promise, and the one judgement of what came back.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use crate::prepared;
use crate::request::DataRequest;
use crate::transports::shm::LentAnswer;

/// How a producer is asked.
pub trait Transport: Send + Sync + 'static {
    /// Asks, waits for the answer until the deadline, and judges it: nonce and checksum are right
    /// in what is returned.
    ///
    /// May be called by many tasks of one runtime at once. Dropping the future gives the question
    /// up. Errors: [`Failure`]
    fn fetch(
        &self,
        ask: &DataRequest,
        deadline: Duration,
    ) -> impl Future<Output = Result<Payload, Failure>> + Send;
}

/// The bytes of an answer, wherever they lie; over the channel, in place.
pub struct Payload(Place);

enum Place {
    /// In memory of ours, from here on.
    Own(Vec<u8>, usize),
    /// In memory that the producer shares, until this is dropped.
    LentAnswer(LentAnswer),
}

impl Payload {
    /// The bytes from here on; what comes before was a frame.
    pub(crate) fn behind(bytes: Vec<u8>, from: usize) -> Self {
        Self(Place::Own(bytes, from))
    }

    /// Memory of the producer's.
    pub(crate) fn lent(lent: LentAnswer) -> Self {
        Self(Place::LentAnswer(lent))
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::behind(bytes, 0)
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Own(bytes, from) => &bytes[*from..],
            Place::LentAnswer(lent) => lent,
        }
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

/// Judges what came: the one function of all ways. It reads every byte of the payload.
///
/// Errors: [`Failure::Damaged`] where nonce, length or checksum are not those of an answer to this
pub fn verify(ask: &DataRequest, payload: &[u8], checksum: u64) -> Result<(), Failure> {
    let fault = match u32::try_from(checksum) {
        Ok(checksum) => prepared::fault(ask, payload, checksum),
        Err(_) => Some("a checksum of more than 32 bits"),
    };
    fault.map_or(Ok(()), |what| Err(Failure::Damaged(what.to_owned())))
}

/// What a way returns for what came.
pub(crate) fn judged(
    ask: &DataRequest,
    payload: Payload,
    checksum: u64,
) -> Result<Payload, Failure> {
    verify(ask, &payload, checksum)?;
    Ok(payload)
}
