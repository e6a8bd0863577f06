//! The driver: HTTP/2 behind the engine's seam.

use std::any::Any;

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::operation::Part;
use plan::protocol::FileKey;
use record::{FailureKind, Outcome};

use super::compile;
use super::connection::{Connection, StreamSlot};
use super::handshake;
use super::operation::Operation;
use crate::http::compile::parts;

/// HTTP/2 over TLS that has agreed on it (ALPN `h2`), or over any stream without TLS, where it is known beforehand.
///
/// Stamps: an operation starts when its request is handed to the connection, whose task writes it together with those
/// of other streams. `first_byte` is the time from there to the head of the first answer, `redirects` that to the end of
/// the last redirect that was followed; it ends with the last byte of the body or the trailers.
/// Sizes are bytes of bodies: heads are compressed by what went before on the connection and belong to no operation
/// alone, and neither do frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Http2;

impl Http2 {
    /// Names of its own spans.
    pub fn spans(table: &Table) -> &'static [&'static str] {
        crate::http::spans(table)
    }
}

impl Driver for Http2 {
    type Operation = Operation;
    type Connection = Connection;
    type Stream = StreamSlot;

    fn files(&self) -> &'static [FileKey] {
        &crate::http::FILES
    }

    fn span_names(&self) -> &[&'static str] {
        crate::http::SPANS
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn parts(&self, table: &Table) -> Vec<Part> {
        parts::named(table)
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
        operation.note()
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

    fn open_stream(&self, connection: &mut Connection) -> Option<StreamSlot> {
        connection.open_stream()
    }

    fn outlives_streams(&self, connection: &mut Connection) -> bool {
        !connection.is_over()
    }

    fn encode(&self, operation: &Operation, stream: &mut StreamSlot, call: &Call) {
        operation.meaning.encode(stream, call);
    }

    fn origin(&self, operation: &Operation, call: &Call, own: &Endpoint) -> Option<String> {
        operation.meaning.address.as_ref().and_then(|address| address.origin(call, own))
    }

    fn resume(
        &self,
        operation: &Operation,
        stream: &mut StreamSlot,
        call: &Call,
        state: Box<dyn Any>,
    ) {
        operation.meaning.resume(stream, call, state);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut StreamSlot,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut StreamSlot) {
        stream.handle.idle().await;
    }
}
