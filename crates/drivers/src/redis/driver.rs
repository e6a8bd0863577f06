//! The driver: Redis behind the engine's seam.

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
use super::stream::CommandStream;

/// Redis over any stream, several commands under way on a connection.
///
/// Stamps: `first_byte` is the time from the start of sending to the first byte of the reply; an operation ends when the
/// last byte of its reply was read. `HELLO` and `SELECT` are part of connecting. Sizes are bytes of commands and replies;
/// under TLS those of the plaintext.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redis;

impl Redis {
    /// Names of its own spans.
    pub fn spans(_table: &Table) -> &'static [&'static str] {
        super::SPANS
    }
}

impl Driver for Redis {
    type Operation = Operation;
    type Connection = Rc<Connection>;
    type Stream = CommandStream;

    fn schemes(&self) -> &'static [Scheme] {
        &super::SCHEMES
    }

    fn span_names(&self) -> &[&'static str] {
        super::SPANS
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn short_form(&self) -> Option<&'static str> {
        Some("command")
    }

    fn multiplexes(&self) -> bool {
        true
    }

    async fn connect<C: Clock>(
        &self,
        operation: &Operation,
        _endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Rc<Connection>>, (FailureKind, String)> {
        let session = &operation.session;
        let connection = Connection::new(stream);
        let mut first = CommandStream::open(&connection);
        if let Err(failure) = session.open(&mut first, exchange).await {
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

    fn open_stream(&self, connection: &mut Rc<Connection>) -> Option<CommandStream> {
        connection.is_usable().then(|| CommandStream::open(connection))
    }

    fn outlives_streams(&self, connection: &mut Rc<Connection>) -> bool {
        connection.is_usable()
    }

    /// A connection is as its first operation wanted it.
    fn shares_connection(&self, one: &Operation, other: &Operation) -> bool {
        one.session == other.session
    }

    fn encode(&self, operation: &Operation, stream: &mut CommandStream, call: &Call) {
        operation.encode(stream, call);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut CommandStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut CommandStream) {
        stream.idle().await;
    }
}
