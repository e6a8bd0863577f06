//! Takes request bodies in, each within its limit and all of them within one budget.
//!
//! A body takes of the budget what has come of it, not what it says that it will be: a client that
//! announces much and sends nothing holds nothing. Nobody waits for room: two bodies that wait for
//! each other would both hold what they have.

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Bytes};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::limits::Limits;
use crate::metrics::{Counter, Registry};

/// The budget, in bytes.
#[derive(Debug)]
pub(super) struct Intake {
    room: Semaphore,
    most: u64,
    refused: Counter,
}

/// Why a body cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Large,
    Broken,
    Slow,
    /// Others hold all that there is.
    Full,
}

impl Refused {
    /// The status and the sentence for it.
    pub(super) fn told(self) -> (StatusCode, &'static str) {
        match self {
            Self::Large => (StatusCode::PAYLOAD_TOO_LARGE, "body too large"),
            Self::Broken => (StatusCode::BAD_REQUEST, "body broken off"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "body too slow"),
            Self::Full => (StatusCode::SERVICE_UNAVAILABLE, "too many bodies at a time"),
        }
    }
}

impl Intake {
    pub(super) fn new(limits: &Limits, registry: &Registry) -> Self {
        let room = limits.max_bodies_bytes.and_then(|most| usize::try_from(most).ok());
        let help = "Requests refused because others held all the room for bodies.";
        Self {
            room: Semaphore::new(
                room.map_or(Semaphore::MAX_PERMITS, |room| room.min(Semaphore::MAX_PERMITS)),
            ),
            most: limits.max_body_bytes,
            refused: registry.counter("http_bodies_refused_total", help),
        }
    }

    /// Reads a body whole; it keeps its room until what comes beside it is dropped.
    ///
    /// Errors: why it cannot be had; never [`Refused::Slow`], which is for whoever waits to say
    pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(
        &self,
        mut body: B,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Refused> {
        // Refused by its length where that is given, before anybody is invited to send it.
        if body.size_hint().lower() > self.most {
            return Err(Refused::Large);
        }
        let mut held: Option<SemaphorePermit<'_>> = None;
        let mut pieces: Vec<Bytes> = Vec::new();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| Refused::Broken)?.into_data() else { continue };
            length += piece.len() as u64;
            if length > self.most {
                return Err(Refused::Large);
            }
            let room = self.take(piece.len())?;
            match &mut held {
                Some(held) => held.merge(room),
                None => held = Some(room),
            }
            pieces.push(piece);
        }
        let whole = match pieces.len() {
            1 => pieces.remove(0),
            _ => pieces.concat().into(),
        };
        Ok((whole, held))
    }

    fn take(&self, bytes: usize) -> Result<SemaphorePermit<'_>, Refused> {
        let bytes = u32::try_from(bytes).map_err(|_| Refused::Full)?;
        self.room.try_acquire_many(bytes).map_err(|_| {
            self.refused.one();
            Refused::Full
        })
    }
}
