//! The driver: gRPC behind the engine's seam.

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::protocol::FileKey;
use record::{FailureKind, Outcome};

use super::compile;
use super::operation::Operation;
use super::stream::CallStream;
use crate::http2::connection::Connection;
use crate::http2::handshake;

/// gRPC over HTTP/2, in the clear or over TLS, several calls under way on a connection.
///
/// Stamps: a call starts when its request is handed to the connection. `first_byte` is the time from there to the head
/// of the answer; messages of a stream are stamped as events. It ends with the trailers. Sizes are bytes of messages and
/// their prefixes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grpc;

impl Grpc {
    /// Names of its own spans.
    pub fn spans(table: &Table) -> &'static [&'static str] {
        super::spans(table)
    }
}

impl Driver for Grpc {
    type Operation = Operation;
    type Connection = Connection;
    type Stream = CallStream;

    fn files(&self) -> &'static [FileKey] {
        &compile::FILES
    }

    fn span_names(&self) -> &[&'static str] {
        super::SPANS
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn alpn(&self) -> Option<&'static str> {
        Some("h2")
    }

    fn multiplexes(&self) -> bool {
        true
    }

    fn carries_traces(&self) -> bool {
        true
    }

    fn note(&self, operation: &Operation) -> Option<String> {
        operation.allowed.note()
    }

    async fn connect<C: Clock>(
        &self,
        _operation: &Operation,
        endpoint: &Endpoint,
        stream: Stream,
        _exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Connection>, (FailureKind, String)> {
        handshake::open(endpoint, stream).await
    }

    fn open_stream(&self, connection: &mut Connection) -> Option<CallStream> {
        connection.handle().map(CallStream::new)
    }

    fn outlives_streams(&self, connection: &mut Connection) -> bool {
        !connection.is_over()
    }

    fn encode(&self, operation: &Operation, stream: &mut CallStream, call: &Call) {
        operation.encode(stream, call);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut CallStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut CallStream) {
        stream.handle.idle().await;
    }
}
