//! An answer's body on its way to the client: counted, logged, and stored on the way if it may be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::{Either, Empty};
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use proxying::Answer;

use super::flights::Flight;
use super::key::{Key, Selection};
use super::log::Entry;
use super::policy::Life;
use super::store::{Room, Store, Stored};
use super::tally::{Place, Tally};

/// A request's body: the client's, or none where the proxy asks for itself.
pub(super) type Sent = Either<Incoming, Empty<Bytes>>;

/// An answer's body, and what goes with it until it ends.
#[derive(Debug)]
pub(super) struct Outgoing {
    body: Answer<Sent>,
    fill: Option<Box<Fill>>,
    entry: Option<Box<Entry>>,
    _place: Option<Place>,
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
    room: Room,
    /// Whoever waits for it.
    flight: Option<Flight>,
}

/// What is known before the body.
#[derive(Debug)]
pub(super) struct Head {
    pub key: Key,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub life: Life,
    pub selection: Selection,
}

impl Outgoing {
    pub fn new(body: Answer<Sent>, fill: Option<Box<Fill>>) -> Self {
        let mut outgoing = Self { body, fill, entry: None, _place: None };
        outgoing.look_for_end();
        outgoing
    }

    /// The same, with a place among the requests under way and a line in the log, which last as long as it.
    pub fn with(self, place: Option<Place>, entry: Option<Box<Entry>>) -> Self {
        let mut outgoing = Self { _place: place, entry, ..self };
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
            fill.land();
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
        (store, tally): (&Arc<Store>, &Arc<Tally>),
    ) -> Option<Box<Self>> {
        let mut room = store.room();
        let length = usize::try_from(length.unwrap_or(0)).ok().filter(|length| *length <= most)?;
        if !room.hold(length) {
            return None;
        }
        Some(Box::new(Self {
            head,
            store: Arc::clone(store),
            tally: Arc::clone(tally),
            body: Vec::with_capacity(length),
            most,
            room,
            flight: None,
        }))
    }

    /// The same, with others waiting for it.
    pub fn for_others(mut self: Box<Self>, flight: Option<Flight>) -> Box<Self> {
        self.flight = flight;
        self
    }

    /// Whether there was room.
    fn take(&mut self, piece: &[u8]) -> bool {
        let length = self.body.len() + piece.len();
        if length > self.most || !self.room.hold(length) {
            return false;
        }
        // Copied, as a piece may hold on to all that was received with it.
        self.body.extend_from_slice(piece);
        true
    }

    fn give_up(self: Box<Self>) {
        self.tally.given_up.one();
        if let Some(flight) = self.flight {
            flight.land_empty();
        }
    }

    fn land(self: Box<Self>) {
        let Self { head, store, tally, body, room, flight, .. } = *self;
        let Head { key, status, mut headers, life, selection } = head;
        // Without room to spare.
        let body = Bytes::from(body.into_boxed_slice());
        if status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_LENGTH, body.len().into());
        }
        let stored = Stored { status, headers, body, life, selection };
        store.put(&key, Arc::new(stored));
        tally.stored.one();
        // In this order: who waited finds it, and what it took on the way is free.
        drop(flight);
        drop(room);
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
