//! An answer's body on its way to the client: counted, logged, and stored on the way if it may be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::{Either, Empty};
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use proxying::Answer;

use super::collapsing::Leader;
use super::key::{Key, Selection};
use super::log::Entry;
use super::policy::Freshness;
use super::store::{Reservation, Store, Stored};
use super::tally::{Permit, Tally};

/// A request's body: the client's, or none where the proxy asks for itself.
pub(super) type Sent = Either<Incoming, Empty<Bytes>>;

/// An answer's body, and what goes with it until it ends.
#[derive(Debug)]
pub(super) struct Outgoing {
    body: Answer<Sent>,
    fill: Option<Box<Fill>>,
    entry: Option<Box<Entry>>,
    _permit: Option<Permit>,
}

/// An answer that is stored once all of it has gone by.
#[derive(Debug)]
pub(super) struct Fill {
    head: Head,
    store: Arc<Store>,
    tally: Arc<Tally>,
    body: Vec<u8>,
    /// Bytes that are stored of one answer at most.
    most: usize,
    reservation: Reservation,
    /// Those that wait for it.
    leader: Option<Leader>,
}

/// What is known before the body.
#[derive(Debug)]
pub(super) struct Head {
    pub key: Key,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub freshness: Freshness,
    pub selection: Selection,
}

impl Outgoing {
    pub fn new(body: Answer<Sent>, fill: Option<Box<Fill>>) -> Self {
        let mut outgoing = Self { body, fill, entry: None, _permit: None };
        outgoing.look_for_end();
        outgoing
    }

    /// The same, with a permit among the requests under way and a line in the log, which last as long as it.
    pub fn with(self, permit: Option<Permit>, entry: Option<Box<Entry>>) -> Self {
        let mut outgoing = Self { _permit: permit, entry, ..self };
        outgoing.look_for_end();
        outgoing
    }

    /// hyper asks no further once the announced length is reached.
    fn look_for_end(&mut self) {
        if self.body.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(fill) = self.fill.take() {
            fill.store();
        }
        if let Some(entry) = &mut self.entry {
            entry.is_whole = true;
        }
    }

    fn pass(&mut self, piece: &Bytes) {
        if let Some(entry) = &mut self.entry {
            entry.bytes += piece.len() as u64;
        }
        if let Some(mut fill) = self.fill.take() {
            match fill.take(piece) {
                true => self.fill = Some(fill),
                false => fill.give_up(),
            }
        }
        self.look_for_end();
    }
}

impl Fill {
    /// Begins one, if there is room for it. Of those whose length is known, all of it is taken now.
    pub fn begin(
        head: Head,
        length: Option<u64>,
        most: usize,
        store: &Arc<Store>,
        tally: &Arc<Tally>,
    ) -> Option<Box<Self>> {
        let mut reservation = store.reserve();
        let length = usize::try_from(length.unwrap_or(0)).ok().filter(|length| *length <= most)?;
        if !reservation.hold(length) {
            return None;
        }
        Some(Box::new(Self {
            head,
            store: Arc::clone(store),
            tally: Arc::clone(tally),
            body: Vec::with_capacity(length),
            most,
            reservation,
            leader: None,
        }))
    }

    /// The same, with others waiting for it.
    pub fn for_others(mut self: Box<Self>, leader: Option<Leader>) -> Box<Self> {
        self.leader = leader;
        self
    }

    /// Whether there was room for the piece.
    fn take(&mut self, piece: &[u8]) -> bool {
        let length = self.body.len() + piece.len();
        if length > self.most || !self.reservation.hold(length) {
            return false;
        }
        // Copied, as a piece may hold on to all that was received with it.
        self.body.extend_from_slice(piece);
        true
    }

    fn give_up(self: Box<Self>) {
        self.tally.given_up.one();
        if let Some(leader) = self.leader {
            leader.release_empty();
        }
    }

    fn store(self: Box<Self>) {
        let Self { head, store, tally, body, reservation, leader, .. } = *self;
        let Head { key, status, mut headers, freshness, selection } = head;
        // Without room to spare.
        let body = Bytes::from(body.into_boxed_slice());
        if status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_LENGTH, body.len().into());
        }
        let stored = Stored { status, headers, body, freshness, selection };
        store.put(&key, Arc::new(stored));
        tally.stored.one();
        // In this order: who waited finds it, and what it took on the way is free.
        drop(leader);
        drop(reservation);
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let outgoing = self.get_mut();
        let frame = ready!(Pin::new(&mut outgoing.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(piece) = frame.data_ref() {
                    outgoing.pass(piece);
                }
            }
            Some(Err(_)) => {
                if let Some(fill) = outgoing.fill.take() {
                    fill.give_up();
                }
            }
            None => outgoing.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
