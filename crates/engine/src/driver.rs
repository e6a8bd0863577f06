//! The interface between engine and protocols: a driver speaks one protocol over a transport that the engine opens.
//!
//! The engine works with any [`Driver`] and names none. Drivers neither read the clock nor open sockets; [`Exchange`]
//! gives them time stamps.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::operation::Part;
use plan::protocol::{FileKey, Scheme, WEB};
pub use plan::template::Call;
use record::{FailureKind, Outcome};

use crate::clock::Clock;
pub use crate::exchange::{DialogueEntry, Exchange, Onward};
use crate::transport::{Endpoint, Stream};

/// A task that a connection needs in addition to its streams (HTTP/2 frames, for example).
pub type Background = Pin<Box<dyn Future<Output = ()>>>;

/// A fresh connection of a driver.
pub struct NewConnection<T> {
    /// The connection.
    pub connection: T,
    /// Spawned by the engine, dropped with the connection.
    pub background: Option<Background>,
}

/// What a driver needs to compile one operation.
#[derive(Debug, Clone, Copy)]
pub struct CompileContext<'a> {
    /// The operation as planned.
    pub operation: &'a plan::operation::Operation,
    /// The arm's targets (for the authority of a request, for example).
    pub targets: &'a [plan::target::Target],
    /// When the trial begins, RFC 3339 in UTC; empty if nothing will be sent.
    pub wall_clock: &'a str,
}

/// A driver for one protocol or several. Generic, not boxed: the engine is compiled for the driver.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Driver: Sized + Send + Sync + 'static {
    /// A compiled operation, shared by all workers.
    type Operation: Send + Sync + 'static;
    /// A connection.
    type Connection: 'static;
    /// A stream on a connection, which carries one operation at a time.
    type Stream: 'static;

    /// The schemes of its addresses, the usual one first.
    fn schemes(&self) -> &'static [Scheme] {
        &WEB
    }

    /// Keys of its tables that name files.
    fn files(&self) -> &'static [FileKey] {
        &[]
    }

    /// Names of the spans that this driver stamps, in order, after `connect` and `tls`.
    fn span_names(&self) -> &[&'static str];

    /// Compiles the operation's table.
    ///
    /// Errors: every problem found, with its span in the experiment file
    fn compile(&self, compile: CompileContext<'_>) -> Result<Self::Operation, Vec<Diagnostic>>;

    /// Opens the session: everything before the first operation, which is the given one.
    ///
    /// Errors: the kind of failure and what was seen
    async fn connect<C: Clock>(
        &self,
        operation: &Self::Operation,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<Self::Connection>, (FailureKind, String)>;

    /// Parts of the target whose times an operation with this table reads, as far as the table is valid.
    fn parts(&self, _table: &Table) -> Vec<Part> {
        Vec::new()
    }

    /// The protocol that TLS must negotiate (ALPN), if there is one.
    fn alpn(&self) -> Option<&'static str> {
        None
    }

    /// The key under which the value of an operation stands that is a list and no table.
    fn short_form(&self) -> Option<&'static str> {
        None
    }

    /// Whether a connection carries several operations at the same time.
    fn multiplexes(&self) -> bool {
        false
    }

    /// Whether requests can carry a trace id ([`Call::trace`]).
    fn carries_traces(&self) -> bool {
        false
    }

    /// A note on an operation for the end of the trial.
    fn note(&self, _operation: &Self::Operation) -> Option<String> {
        None
    }

    /// Opens a stream on this connection; `None` if the connection carries no more streams.
    fn open_stream(&self, connection: &mut Self::Connection) -> Option<Self::Stream>;

    /// Whether a connection may carry more streams after one of its streams was abandoned.
    fn outlives_streams(&self, _connection: &mut Self::Connection) -> bool {
        false
    }

    /// Whether a connection that was opened for one of these operations may carry the other one. If not, each has
    /// connections of its own; one that may not share with its own like has a connection each time.
    fn shares_connection(&self, _one: &Self::Operation, _other: &Self::Operation) -> bool {
        true
    }

    /// The origin that the operation of this call goes to, if that is not its own target's.
    fn origin(
        &self,
        _operation: &Self::Operation,
        _call: &Call,
        _own: &Endpoint,
    ) -> Option<String> {
        None
    }

    /// Encodes an operation into the stream's buffer; the engine stamps `started_at` right after.
    fn encode(&self, operation: &Self::Operation, stream: &mut Self::Stream, call: &Call);

    /// Encodes what is left of an operation that goes on over this stream ([`Exchange::onward`]).
    fn resume(
        &self,
        operation: &Self::Operation,
        stream: &mut Self::Stream,
        call: &Call,
        _state: Box<dyn Any>,
    ) {
        self.encode(operation, stream, call);
    }

    /// Sends the encoded operation and reads the answer. A time-out drops this future; the stream is not used after
    /// that.
    async fn perform<C: Clock>(
        &self,
        operation: &Self::Operation,
        stream: &mut Self::Stream,
        exchange: &mut Exchange<C>,
    ) -> Outcome;

    /// Resolves when an idle stream becomes unusable (closed by the peer, or unexpected bytes); otherwise never. Must
    /// be cancel-safe.
    async fn idle(&self, stream: &mut Self::Stream);
}
