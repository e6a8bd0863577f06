//! The driver: a shared-memory channel behind the engine's seam.

use std::rc::Rc;

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::protocol::{FileKey, Scheme};
use record::{FailureKind, Outcome};

use super::channel::Channel;
use super::operation::Operation;
use super::shared_client::SharedClient;
use super::{WELCOME, compile};

/// Exchanges over shared memory, as many at a time on a connection as its slots carry; each connection is a client of
/// the producer, with regions of its own. Sizes are bytes of requests and answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shm;

/// A connection, whose streams share one client. It opens as many as are wanted: what its slots do not carry at once
/// fails, and says so.
#[derive(Debug)]
pub struct Connection(Rc<SharedClient>);

impl Shm {
    /// Names of its own spans.
    pub fn spans(_table: &Table) -> &'static [&'static str] {
        super::SPANS
    }
}

impl Driver for Shm {
    type Operation = Operation;
    type Connection = Connection;
    type Stream = Channel;

    fn schemes(&self) -> &'static [Scheme] {
        &super::SCHEMES
    }

    fn files(&self) -> &'static [FileKey] {
        &super::FILES
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

    fn note(&self, operation: &Operation) -> Option<String> {
        operation.note()
    }

    async fn connect<C: Clock>(
        &self,
        _operation: &Operation,
        _endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Connection>, (FailureKind, String)> {
        let begun_at = exchange.now();
        exchange.timeout_kind = FailureKind::GreetingTimeout;
        let greeted = SharedClient::over(stream).await;
        exchange.stamp(WELCOME, exchange.now() - begun_at);
        let client = greeted.map_err(|failure| (failure.kind, failure.detail))?;
        Ok(NewConnection { connection: Connection(Rc::new(client)), background: None })
    }

    fn open_stream(&self, connection: &mut Connection) -> Option<Channel> {
        Some(Channel::open(&connection.0))
    }

    fn outlives_streams(&self, connection: &mut Connection) -> bool {
        connection.0.goes_on()
    }

    fn encode(&self, operation: &Operation, stream: &mut Channel, call: &Call) {
        operation.encode(stream, call);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut Channel,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut Channel) {
        stream.idle().await;
    }
}
