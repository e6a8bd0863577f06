//! Takes request bodies in, each within its limit and all of them within one budget.
//!
//! A body takes as much of the budget as has arrived, not as much as it announces: a client that
//! announces much and sends nothing holds nothing. A body never waits for the budget, because two
//! waiting bodies could block each other.

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

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Large,
    Broken,
    Slow,
    /// Others hold all that there is.
    Full,
}

impl Refused {
    /// Its status and message.
    pub(super) fn answer(self) -> (StatusCode, &'static str) {
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

    /// Reads a whole body; its share of the budget is released when the returned guard is dropped.
    ///
    /// Errors: why it cannot be read; never [`Refused::Slow`], which the caller decides
    pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(
        &self,
        mut body: B,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Refused> {
        // A body whose announced length is too large is refused before the client is asked to send
        // it.
        if body.size_hint().lower() > self.most {
            return Err(Refused::Large);
        }
        let mut held: Option<SemaphorePermit<'_>> = None;
        // Copied, as a piece of a single byte may hold on to all that was received with it.
        let mut whole: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| Refused::Broken)?.into_data() else { continue };
            if (whole.len() + piece.len()) as u64 > self.most {
                return Err(Refused::Large);
            }
            let room = self.take(piece.len())?;
            match &mut held {
                Some(held) => held.merge(room),
                None => held = Some(room),
            }
            whole.extend_from_slice(&piece);
        }
        Ok((whole.into(), held))
    }

    fn take(&self, bytes: usize) -> Result<SemaphorePermit<'_>, Refused> {
        let bytes = u32::try_from(bytes).map_err(|_| Refused::Full)?;
        self.room.try_acquire_many(bytes).map_err(|_| {
            self.refused.one();
            Refused::Full
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    /// A received body that is counted by bytes.
    struct CountedBytes(Arc<AtomicUsize>);

    impl AsRef<[u8]> for CountedBytes {
        fn as_ref(&self) -> &[u8] {
            b"x"
        }
    }

    impl Drop for CountedBytes {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// A body in pieces of one byte, which counts how many are held, and the maximum.
    struct OneByteBody {
        left: usize,
        held: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
    }

    impl Body for OneByteBody {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            self.left -= 1;
            let held = self.held.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(held, Ordering::SeqCst);
            let piece = Bytes::from_owner(CountedBytes(Arc::clone(&self.held)));
            Poll::Ready(Some(Ok(Frame::data(piece))))
        }
    }

    #[tokio::test]
    async fn a_body_holds_no_more_than_its_bytes() {
        let limits = Limits { max_bodies_bytes: Some(1_000), ..Limits::default() };
        let intake = Intake::new(&limits, &Registry::default());
        let (held, most) = (Arc::default(), Arc::<AtomicUsize>::default());
        let body = OneByteBody { left: 1_000, held, most: Arc::clone(&most) };
        let (whole, room) = intake.read(body).await.unwrap();
        assert_eq!(whole.len(), 1_000);
        assert!(most.load(Ordering::SeqCst) <= 2, "{most:?} pieces were kept beside");
        assert_eq!(intake.room.available_permits(), 0);
        drop(room);
        assert_eq!(intake.room.available_permits(), 1_000);
    }
}
