//! The driver: NATS behind the engine's seam.

use std::future::poll_fn;
use std::rc::Rc;

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::protocol::Scheme;
use record::{FailureKind, Outcome};

use super::compile;
use super::connection::Connection;
use super::operation::Operation;
use super::stream::MessageStream;

/// NATS over any stream, several operations under way on a connection.
///
/// A publication ends when the `PONG` to the first `PING` behind it was read, which the server sends after it has read the
/// message, or the last of its copies; publications that leave together share a `PING`. A request or a publication to
/// JetStream ends with the last byte of its reply. Stamps: `first_byte` is the time from the start of sending to the first
/// byte of the reply. `INFO`, TLS, `CONNECT` and the subscription for replies are part of connecting. Sizes are bytes of
/// messages and replies, `PING` and `PONG` apart; under TLS those of the plaintext.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nats;

impl Nats {
    /// Names of its own spans: a publication has no reply.
    pub fn spans(table: &Table) -> &'static [&'static str] {
        if table.get(compile::PUBLISH).is_some() { &[] } else { super::SPANS }
    }
}

impl Driver for Nats {
    type Operation = Operation;
    type Connection = Rc<Connection>;
    type Stream = MessageStream;

    fn schemes(&self) -> &'static [Scheme] {
        &super::SCHEMES
    }

    fn span_names(&self) -> &[&'static str] {
        super::SPANS
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn multiplexes(&self) -> bool {
        true
    }

    async fn connect<C: Clock>(
        &self,
        operation: &Operation,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Rc<Connection>>, (FailureKind, String)> {
        let session = &operation.session;
        let connection = match session.open(endpoint, stream, exchange).await {
            Ok(connection) => connection,
            Err(failure) => {
                exchange.status = failure.status;
                return Err((failure.kind, failure.detail));
            }
        };
        if let Some(failure) = connection.failure() {
            exchange.status = failure.status;
            return Err((failure.kind, failure.detail));
        }
        let (running, clock) = (Rc::clone(&connection), exchange.clock().clone());
        let background = Box::pin(async move {
            let now = || clock.now();
            poll_fn(|context| running.poll_run(context, &now)).await;
        });
        Ok(NewConnection { connection, background: Some(background) })
    }

    fn open_stream(&self, connection: &mut Rc<Connection>) -> Option<MessageStream> {
        connection.is_usable().then(|| MessageStream::open(connection))
    }

    fn outlives_streams(&self, connection: &mut Rc<Connection>) -> bool {
        connection.is_usable()
    }

    /// A connection is as its first operation wanted it.
    fn shares_connection(&self, one: &Operation, other: &Operation) -> bool {
        one.session == other.session
    }

    fn encode(&self, operation: &Operation, stream: &mut MessageStream, call: &Call) {
        operation.encode(stream, call);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut MessageStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut MessageStream) {
        stream.idle().await;
    }
}
