//! The bytes of an answer.

use std::fmt;
use std::ops::Deref;

use crate::transports::shm::lent_answer::LentAnswer;

/// The bytes of an answer, wherever they lie; over the channel, in place.
pub struct Payload(Place);

enum Place {
    /// In memory of this process, from here on.
    Own(Vec<u8>, usize),
    /// In memory that the producer shares, until this is dropped.
    LentAnswer(LentAnswer),
}

impl Payload {
    /// The bytes from here on; what comes before was a frame.
    pub(crate) fn behind(bytes: Vec<u8>, from: usize) -> Self {
        Self(Place::Own(bytes, from))
    }

    /// Memory that the producer shares.
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
