//! A connection with its stream slots: each carries one operation after the other, each operation on a new stream.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use engine::clock::Clock;
use engine::driver::Exchange;
use h2::client::SendRequest;
use http::uri::{Authority, PathAndQuery, Scheme};
use plan::rows::Rows;

use super::connection_end::ConnectionEnd;
use super::request::Request;
use crate::http::answer::{Answer, Failure, Keep};
use crate::http::carrier::Carrier;
use crate::http::progress::Progress;
use crate::http::request::RenderContext;

/// What requests of a connection are addressed to, unless they say otherwise.
#[derive(Debug, Clone)]
pub struct RequestOrigin {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Host and port.
    pub authority: Authority,
}

impl RequestOrigin {
    /// Whether it is spoken to over TLS.
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    send: SendRequest<Bytes>,
    ending: Rc<ConnectionEnd>,
    origin: RequestOrigin,
    /// How many slots are on it.
    slots: Rc<Cell<usize>>,
}

impl Connection {
    /// A connection whose frames another task moves.
    pub fn new(send: SendRequest<Bytes>, ending: Rc<ConnectionEnd>, origin: RequestOrigin) -> Self {
        Self { send, ending, origin, slots: Rc::default() }
    }

    /// One more worker slot's hold on it, unless the connection has ended.
    pub fn handle(&mut self) -> Option<ConnectionHandle> {
        if self.is_over() {
            return None;
        }
        self.slots.set(self.slots.get() + 1);
        Some(ConnectionHandle {
            send: self.send.clone(),
            ending: Rc::clone(&self.ending),
            origin: self.origin.clone(),
            slots: Rc::clone(&self.slots),
            knows_limit: false,
        })
    }

    /// A stream slot for one more worker slot, unless the connection has ended.
    pub fn open_stream(&mut self) -> Option<StreamSlot> {
        Some(StreamSlot {
            handle: self.handle()?,
            progress: Progress::default(),
            target: String::new(),
            prepared: Err(String::new()),
            memory: RenderBuffers::default(),
        })
    }

    /// Whether no further stream may be opened on it.
    pub fn is_over(&mut self) -> bool {
        is_over(&mut self.send, &self.ending)
    }
}

/// A request ready to be handed over.
#[derive(Debug)]
pub struct PreparedRequest {
    /// Its head.
    pub head: http::Request<()>,
    /// Its body; empty where there is none.
    pub body: Bytes,
}

/// One worker slot's hold on a connection.
#[derive(Debug)]
pub struct ConnectionHandle {
    /// Opens streams.
    pub(crate) send: SendRequest<Bytes>,
    /// How the connection ends.
    pub(crate) ending: Rc<ConnectionEnd>,
    /// What requests are addressed to.
    pub(crate) origin: RequestOrigin,
    slots: Rc<Cell<usize>>,
    knows_limit: bool,
}

/// One worker slot's use of a connection.
#[derive(Debug)]
pub struct StreamSlot {
    pub(super) handle: ConnectionHandle,
    pub(super) progress: Progress,
    /// Path and query of the encoded request, where the operation needs it for the answer.
    target: String,
    /// The request of that call, or why it cannot be sent.
    pub(super) prepared: Result<PreparedRequest, String>,
    memory: RenderBuffers,
}

/// Memory for rendering, kept from one operation to the next.
#[derive(Debug, Default)]
pub struct RenderBuffers {
    pub(crate) rendered: Vec<u8>,
    pub(crate) out: Vec<u8>,
    shared: BytesMut,
}

impl RenderBuffers {
    /// Hands out what `out` holds.
    ///
    /// Cost:   allocates only when everything that was handed out before is still held
    pub(crate) fn take(&mut self) -> Bytes {
        self.shared.extend_from_slice(&self.out);
        self.out.clear();
        self.shared.split().freeze()
    }
}

impl ConnectionHandle {
    /// Whether no further stream may be opened on the connection.
    pub(crate) fn is_over(&mut self) -> bool {
        is_over(&mut self.send, &self.ending)
    }

    /// Resolves when the connection carries nothing more.
    pub(crate) async fn idle(&mut self) {
        if !self.is_over() {
            self.ending.comes().await;
        }
    }

    /// How many streams the peer allows at a time, if that is fewer than there are slots; once an answer came.
    ///
    /// Cost:   nothing after the first call
    pub(crate) fn too_few_allowed(&mut self) -> Option<usize> {
        if std::mem::replace(&mut self.knows_limit, true) {
            return None;
        }
        Some(self.send.current_max_send_streams()).filter(|&allowed| allowed < self.slots.get())
    }
}

impl Carrier for StreamSlot {
    type Request = Request;

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn authority(&self) -> &str {
        self.handle.origin.authority.as_str()
    }

    fn is_secure(&self) -> bool {
        self.handle.origin.is_secure()
    }

    fn target(&self) -> &str {
        &self.target
    }

    fn encode(&mut self, request: &Request, rows: Option<&Rows>, answers_need_target: bool) {
        let Self { handle, progress, memory, prepared, target } = self;
        let origin = &handle.origin;
        let (authority, is_secure) = (origin.authority.as_str(), origin.is_secure());
        let (call, location) = (&progress.call, progress.redirection.target.as_str());
        let context = RenderContext { call, rows, authority, is_secure, location };
        *prepared = request.prepare(&context, origin, memory);
        if answers_need_target && let Ok(PreparedRequest { head, .. }) = prepared {
            target.clear();
            target.push_str(head.uri().path_and_query().map_or("/", PathAndQuery::as_str));
        }
    }

    async fn exchange<C: Clock>(
        &mut self,
        _request: &Request,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        self.converse(keep, exchange).await
    }
}

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        self.slots.set(self.slots.get() - 1);
    }
}

/// Whether the peer has said that it ends the connection, or the connection's task is over.
fn is_over(send: &mut SendRequest<Bytes>, ending: &ConnectionEnd) -> bool {
    let context = &mut Context::from_waker(Waker::noop());
    ending.has_come() || matches!(send.poll_ready(context), Poll::Ready(Err(_)))
}
