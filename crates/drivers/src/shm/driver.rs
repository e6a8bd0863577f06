//! The driver: a shared-memory channel behind the engine's seam.

use engine::clock::Clock;
use engine::driver::{Call, Compile, Connected, Driver, Exchange};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use record::{FailureKind, Outcome};

use super::channel::Channel;
use super::operation::Operation;
use super::{WELCOME, compile};

/// Exchanges over shared memory, one at a time on a connection; each connection is a client of the producer, with
/// regions of its own. Sizes are bytes of requests and answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shm;

/// A connection, which has one stream.
#[derive(Debug)]
pub struct Connection(Option<Channel>);

impl Shm {
    /// Names of its own spans.
    pub const SPANS: &[&str] = super::SPANS;
}

impl Driver for Shm {
    type Operation = Operation;
    type Connection = Connection;
    type Stream = Channel;

    fn span_names(&self) -> &[&'static str] {
        Self::SPANS
    }

    fn compile(&self, compile: Compile<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    async fn connect<C: Clock>(
        &self,
        _operation: &Operation,
        _endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<Connected<Connection>, (FailureKind, String)> {
        let begun_at = exchange.now();
        exchange.if_late = FailureKind::GreetingTimeout;
        let greeted = Channel::over(stream).await;
        exchange.stamp(WELCOME, exchange.now() - begun_at);
        let channel = greeted.map_err(|failure| (failure.kind, failure.detail))?;
        Ok(Connected { connection: Connection(Some(channel)), background: None })
    }

    fn open_stream(&self, connection: &mut Connection) -> Option<Channel> {
        connection.0.take()
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
