//! The driver: WebSocket behind the engine's seam.

use std::future::poll_fn;
use std::rc::Rc;

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::protocol::{FileKey, Scheme};
use record::{FailureKind, Outcome};

use super::compile;
use super::handshake::Answer;
use super::opening::Opening;
use super::operation::Operation;
use super::socket::Socket;
use super::stream::AskStream;
use crate::http;

/// WebSocket over any stream, several messages under way on a socket.
///
/// Stamps nothing of its own. An operation that opens ends with the last byte of the handshake's answer that was read
/// with its end; one that asks ends when the last byte of the answer was read. The handshake of a socket that is asked is
/// part of connecting. Sizes are bytes of messages, and of the handshake where it is the operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebSocket;

/// A connection.
#[derive(Debug)]
pub enum Connection {
    /// One on which an operation will open a socket.
    Fresh(Option<Box<Opening>>),
    /// An open socket, which its streams share.
    Open(Rc<Socket>),
}

/// What carries one operation at a time.
#[derive(Debug)]
pub enum Conversation {
    /// The opening of a socket.
    Open(Box<Opening>),
    /// A message and its answer.
    Ask(Box<AskStream>),
}

impl WebSocket {
    /// Names of its own spans.
    pub fn spans(_table: &Table) -> &'static [&'static str] {
        &[]
    }
}

impl Driver for WebSocket {
    type Operation = Operation;
    type Connection = Connection;
    type Stream = Conversation;

    fn schemes(&self) -> &'static [Scheme] {
        &super::SCHEMES
    }

    fn files(&self) -> &'static [FileKey] {
        &http::FILES
    }

    fn span_names(&self) -> &[&'static str] {
        &[]
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn multiplexes(&self) -> bool {
        true
    }

    fn note(&self, operation: &Operation) -> Option<String> {
        operation.ask.as_ref()?.note()
    }

    async fn connect<C: Clock>(
        &self,
        operation: &Operation,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Connection>, (FailureKind, String)> {
        if operation.ask.is_none() {
            let opening = Box::new(Opening::new(stream, &endpoint.authority));
            let connection = Connection::Fresh(Some(opening));
            return Ok(NewConnection { connection, background: None });
        }
        let handshake = &operation.handshake;
        let (is_secure, authority) = (stream.is_tls(), &endpoint.authority);
        let request = handshake.request(&Call::default(), None, authority, is_secure);
        exchange.note_dialogue(true, &request.bytes);
        let mut answer = Answer::default();
        let opened = handshake.open(&request, stream, &mut answer, exchange).await;
        exchange.note_dialogue(false, &answer.head);
        let opened = opened.map_err(|failure| {
            exchange.status = failure.status;
            (failure.kind, failure.detail)
        })?;
        let socket = Socket::new(opened);
        let (running, clock) = (Rc::clone(&socket), exchange.clock().clone());
        let background = Box::pin(async move {
            let now = || clock.now();
            poll_fn(|context| running.poll_run(context, &now)).await;
        });
        let connection = Connection::Open(socket);
        Ok(NewConnection { connection, background: Some(background) })
    }

    fn open_stream(&self, connection: &mut Connection) -> Option<Conversation> {
        match connection {
            Connection::Fresh(opening) => opening.take().map(Conversation::Open),
            Connection::Open(socket) => {
                let open = || Conversation::Ask(Box::new(AskStream::open(socket)));
                socket.is_usable().then(open)
            }
        }
    }

    fn outlives_streams(&self, connection: &mut Connection) -> bool {
        match connection {
            Connection::Fresh(_) => false,
            Connection::Open(socket) => socket.is_usable(),
        }
    }

    /// A socket is as its first operation opened it; one that is opened to be measured is never asked.
    fn shares_connection(&self, one: &Operation, other: &Operation) -> bool {
        one.ask.is_some() && other.ask.is_some() && one.handshake == other.handshake
    }

    fn encode(&self, operation: &Operation, stream: &mut Conversation, call: &Call) {
        match (stream, &operation.ask) {
            (Conversation::Open(opening), _) => operation.encode_opening(opening, call),
            (Conversation::Ask(stream), Some(ask)) => {
                ask.encode(operation.rows.as_deref(), stream, call);
            }
            (Conversation::Ask(_), None) => unreachable!("a stream that does not fit"),
        }
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        match (stream, &operation.ask) {
            (Conversation::Open(opening), _) => operation.open(opening, exchange).await,
            (Conversation::Ask(stream), Some(ask)) => {
                ask.perform(operation.rows.as_deref(), stream, exchange).await
            }
            (Conversation::Ask(_), None) => unreachable!("a stream that does not fit"),
        }
    }

    async fn idle(&self, stream: &mut Conversation) {
        match stream {
            Conversation::Open(opening) => opening.idle().await,
            Conversation::Ask(stream) => stream.idle().await,
        }
    }
}
