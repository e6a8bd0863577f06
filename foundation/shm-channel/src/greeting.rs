//! What both sides say to each other over the Unix socket, before any memory is shared.
//!
//! The client begins with a [`Hello`], the producer answers with a [`Welcome`]. Magic, version and
//! outcome stand at the same place in every version, so that two that do not understand each other
//! can say so.

use crate::Error;
use crate::layout::{Geometry, VERSION};

/// Length of either message.
pub(crate) const LENGTH: usize = 64;
const MAGIC: [u8; 8] = *b"SHMCHAN\0";

/// The client's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub version: u32,
}

/// The producer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub version: u32,
    pub outcome: Outcome,
    /// Present where the outcome is [`Outcome::Admitted`].
    pub terms: Option<Terms>,
    /// How many clients there may be.
    pub limit: u32,
}

/// What an admitted client has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub geometry: Geometry,
    /// Another one for each start of a producer.
    pub generation: u64,
    /// Number of this client at this producer, from 1.
    pub client: u64,
}

/// Whether the client is let in, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outcome {
    Admitted = 0,
    OtherVersion = 1,
    Crowded = 2,
    OtherUser = 3,
    NotUnderstood = 4,
    Failed = 5,
}

const OUTCOMES: [Outcome; 6] = [
    Outcome::Admitted,
    Outcome::OtherVersion,
    Outcome::Crowded,
    Outcome::OtherUser,
    Outcome::NotUnderstood,
    Outcome::Failed,
];

impl Hello {
    pub(crate) fn encode(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, 8, &self.version.to_le_bytes());
        bytes
    }

    /// Reads a hello; `None` where it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let whole = bytes.len() == LENGTH && bytes.starts_with(&MAGIC);
        whole.then(|| Self { version: u32_at(bytes, 8) })
    }
}

impl Welcome {
    /// A refusal.
    pub(crate) fn refusal(outcome: Outcome, limit: u32) -> Self {
        Self { version: VERSION, outcome, terms: None, limit }
    }

    pub(crate) fn encode(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, 8, &self.version.to_le_bytes());
        put(&mut bytes, 12, &(self.outcome as u32).to_le_bytes());
        put(&mut bytes, 20, &self.limit.to_le_bytes());
        if let Some(Terms { geometry, generation, client }) = self.terms {
            put(&mut bytes, 16, &geometry.slots().to_le_bytes());
            put(&mut bytes, 24, &geometry.request_room().to_le_bytes());
            put(&mut bytes, 32, &geometry.answer_room().to_le_bytes());
            put(&mut bytes, 40, &generation.to_le_bytes());
            put(&mut bytes, 48, &client.to_le_bytes());
        }
        bytes
    }

    /// The terms, if these are the bytes of a welcome that lets us in.
    ///
    /// Errors: what the producer said instead, or that it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Terms, Error> {
        if bytes.len() != LENGTH || !bytes.starts_with(&MAGIC) {
            return Err(Error::NotAProducer);
        }
        let version = u32_at(bytes, 8);
        let outcome = OUTCOMES.into_iter().find(|known| *known as u32 == u32_at(bytes, 12));
        match outcome {
            Some(Outcome::Crowded) => Err(Error::Crowded { limit: u32_at(bytes, 20) }),
            Some(Outcome::OtherUser) => Err(Error::OtherUser),
            Some(Outcome::Failed) => Err(Error::ProducerFailed),
            _ if version != VERSION => Err(Error::Version { theirs: version, ours: VERSION }),
            Some(Outcome::Admitted) => Ok(Terms {
                geometry: geometry(bytes)?,
                generation: u64_at(bytes, 40),
                client: u64_at(bytes, 48),
            }),
            _ => Err(Error::NotAProducer),
        }
    }
}

/// The geometry of a welcome: one that was rounded already.
fn geometry(bytes: &[u8]) -> Result<Geometry, Error> {
    let (request, answer) = (u64_at(bytes, 24), u64_at(bytes, 32));
    match Geometry::new(u32_at(bytes, 16), request, answer) {
        Ok(shape) if (shape.request_room(), shape.answer_room()) == (request, answer) => Ok(shape),
        _ => Err(Error::Damaged("the welcome's geometry")),
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
