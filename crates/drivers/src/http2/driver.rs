//! The driver: HTTP/2 behind the engine's seam.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use h2::client::Builder;
use http::uri::{Authority, Scheme};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::operation::Part;
use plan::protocol::FileKey;
use record::{FailureKind, Outcome};

use super::compile;
use super::connection::{Connection, RequestOrigin, StreamSlot};
use super::connection_end::ConnectionEnd;
use super::failure;
use super::operation::Operation;
use super::wire::Wire;
use crate::http::compile::parts;
use crate::http::head::HEAD_LIMIT;

/// Bytes of one answer that may be under way before any of them is read.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// The same of all answers of a connection, which bounds what it may hold.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// Streams that were given up and are remembered for a while, so that what still comes for them is understood.
const REMEMBERED: usize = 1_000;
/// How long they are remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);

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
        let is_tls = stream.is_tls();
        if is_tls && stream.alpn() != Some(b"h2") {
            let detail = format!("{endpoint} did not agree to speak HTTP/2 (ALPN h2) over TLS");
            return Err((FailureKind::Tls, detail));
        }
        let authority = endpoint.authority.parse::<Authority>().map_err(|error| {
            let detail = format!("{} is no authority of a URI: {error}", endpoint.authority);
            (FailureKind::Unreachable, detail)
        })?;
        let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
        let ending = Rc::new(ConnectionEnd::default());
        let wire = Wire::new(stream, Rc::clone(&ending));
        let (send, connection) = builder().handshake::<_, Bytes>(wire).await.map_err(|error| {
            let failure = failure::of(&error, &ending);
            (failure.kind, failure.detail)
        })?;
        let ended = Rc::clone(&ending);
        let background = Box::pin(async move {
            // Every stream reports the failure.
            let _ = connection.await;
            ended.come();
        });
        let connection = Connection::new(send, ending, RequestOrigin { scheme, authority });
        Ok(NewConnection { connection, background: Some(background) })
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
        stream.idle().await;
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        // Beyond the limit that is told apart, so that it can be told apart.
        .max_header_list_size(4 * HEAD_LIMIT as u32)
        .max_concurrent_reset_streams(REMEMBERED)
        .reset_stream_duration(REMEMBERED_FOR)
        // Many operations may time out on one connection, which must not end it.
        .max_local_error_reset_streams(None);
    builder
}
