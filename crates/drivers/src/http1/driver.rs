//! The driver: HTTP/1.1 behind the engine's seam.

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
use super::conversation::Conversation;
use super::request::Request;
use crate::http;
use crate::single_stream::SingleStream;

/// HTTP/1.1 over any stream, one operation at a time on a connection.
///
/// Stamps: `first_byte` is the time from the start of sending to the first byte of the first answer
/// (interim answers included); `redirects` that to the end of the last redirect that was followed; and what the answer's `Server-Timing` says of the parts that the operation names.
/// Sizes are bytes of the conversation, heads and framing included; on
/// TLS that is the plaintext.
#[derive(Debug, Clone, Copy, Default)]
pub struct Http1;

/// A compiled operation.
pub type Operation = http::operation::Operation<Request>;

impl Http1 {
    /// Names of its own spans.
    pub fn spans(table: &Table) -> &'static [&'static str] {
        http::spans(table)
    }
}

impl Driver for Http1 {
    type Operation = Operation;
    type Connection = SingleStream<Conversation>;
    type Stream = Conversation;

    fn files(&self) -> &'static [FileKey] {
        &http::FILES
    }

    fn span_names(&self) -> &[&'static str] {
        http::SPANS
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(compile.operation)
    }

    fn parts(&self, table: &Table) -> Vec<Part> {
        http::compile::parts::named(table)
    }

    fn carries_traces(&self) -> bool {
        true
    }

    fn note(&self, operation: &Operation) -> Option<String> {
        operation.check.reported_times.note()
    }

    async fn connect<C: Clock>(
        &self,
        _operation: &Operation,
        endpoint: &Endpoint,
        stream: Stream,
        _exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<SingleStream<Conversation>>, (FailureKind, String)> {
        let conversation = Conversation::new(stream, &endpoint.authority);
        Ok(SingleStream::connected(conversation))
    }

    fn open_stream(&self, connection: &mut SingleStream<Conversation>) -> Option<Conversation> {
        connection.take()
    }

    fn encode(&self, operation: &Operation, stream: &mut Conversation, call: &Call) {
        operation.encode(stream, call);
    }

    fn origin(&self, operation: &Operation, call: &Call, own: &Endpoint) -> Option<String> {
        operation.address.as_ref().and_then(|address| address.origin(call, own))
    }

    fn resume(
        &self,
        operation: &Operation,
        stream: &mut Conversation,
        call: &Call,
        state: Box<dyn Any>,
    ) {
        operation.resume(stream, call, state);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut Conversation) {
        stream.idle().await;
    }
}
