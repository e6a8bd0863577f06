//! The seam: a driver holds one kind of conversation over a transport that the engine gave it.
//!
//! The engine drives any [`Driver`] and never names one. Drivers neither read the clock nor open
//! sockets: what they stamp they stamp through [`Exchange`].

use std::future::Future;
use std::pin::Pin;

use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::operation::Part;
pub use plan::template::Call;
use record::{FailureKind, Outcome, Spans};

use crate::clock::Clock;
use crate::transport::{Endpoint, Stream};

/// What a driver reports of one operation, and the clock to stamp it with.
///
/// The worker owns it and clears it before each operation, so that nothing is allocated.
#[derive(Debug)]
pub struct Exchange<C: Clock> {
    clock: C,
    /// Spans, by index in the trial's list; protocol spans start at [`Exchange::FIRST_SPAN`].
    pub spans: Spans,
    /// The protocol's status code, 0 if there was none.
    pub status: u16,
    /// Numbers read from the answer, one for each declared item; `NaN` where absent.
    pub items: Vec<f64>,
    /// Bytes written to the wire.
    pub bytes_sent: u64,
    /// Bytes read from the wire.
    pub bytes_received: u64,
    /// Just before the operation was handed to the driver; spans of an operation count from here.
    pub started_at: u64,
    /// When the driver last read from the stream; 0 if it did not say. A complete answer ended then, and not
    /// when the instrument had looked at it.
    pub read_at: u64,
    /// Whether the stream may carry another operation; drivers set it to false otherwise.
    pub reusable: bool,
    /// Whether the connection is closed after this operation, as planned; a driver whose protocol takes leave does so.
    pub is_last: bool,
    /// What it is called if the time-out passes now. The engine sets it before connecting and before performing;
    /// a driver may know better.
    pub if_late: FailureKind,
    /// How the operation has ended, while nothing but taking leave goes on: whatever becomes of that, it stays so.
    pub settled: Option<Outcome>,
    /// What was said in both directions, where somebody wants to read it; drivers of dialogues add to it.
    pub dialogue: Option<Vec<Turn>>,
    /// Index of the first span of the protocol at hand.
    pub(crate) own_spans: usize,
    /// Index of the first span of a part of the target.
    pub(crate) part_spans: usize,
    /// What exactly failed, said once for each kind. Set only on failure.
    pub detail: Option<String>,
}

impl<C: Clock> Exchange<C> {
    /// Index of the `connect` span.
    pub const CONNECT: usize = 0;
    /// Index of the `tls` span.
    pub const TLS: usize = 1;
    /// Index of a driver's first own span.
    pub const FIRST_SPAN: usize = 2;

    /// An empty exchange on this clock.
    pub fn new(clock: C) -> Self {
        Self {
            clock,
            spans: Spans::none(),
            status: 0,
            items: Vec::new(),
            bytes_sent: 0,
            bytes_received: 0,
            started_at: 0,
            read_at: 0,
            reusable: true,
            is_last: false,
            if_late: FailureKind::Timeout,
            settled: None,
            dialogue: None,
            own_spans: Self::FIRST_SPAN,
            part_spans: Self::FIRST_SPAN,
            detail: None,
        }
    }

    /// Makes it ready for the next operation with so many items, keeping its memory.
    pub fn clear(&mut self, items: usize) {
        self.spans = Spans::none();
        self.status = 0;
        self.items.clear();
        self.items.resize(items, f64::NAN);
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.started_at = 0;
        self.read_at = 0;
        self.reusable = true;
        self.is_last = false;
        self.if_late = FailureKind::Timeout;
        self.settled = None;
        self.detail = None;
    }

    /// Nanoseconds on the trial's clock.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Notes that the driver's own span with this index took so many nanoseconds.
    pub fn stamp(&mut self, own: usize, nanoseconds: u64) {
        self.spans.set(self.own_spans + own, nanoseconds);
    }

    /// Where several protocols share a list of spans: those of the one at hand come after so many of others.
    pub fn own_spans_after(&mut self, others: usize) {
        self.own_spans = Self::FIRST_SPAN + others;
    }

    /// Notes that the part of the target with this place says that it took so many nanoseconds.
    pub fn stamp_part(&mut self, place: usize, nanoseconds: u64) {
        self.spans.set(self.part_spans + place, nanoseconds);
    }

    /// Parts of the target come after so many spans of all protocols.
    pub fn parts_after(&mut self, spans: usize) {
        self.part_spans = Self::FIRST_SPAN + spans;
    }

    /// Adds to the dialogue, if anybody wants to read it.
    pub fn said(&mut self, is_ours: bool, text: &[u8]) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.push(Turn { is_ours, text: text.to_vec() });
        }
    }

    /// Stamps a read.
    pub fn note_read(&mut self) {
        self.read_at = self.now();
    }

    /// Notes a failure with what was seen; the connection is not used again.
    pub fn fail(&mut self, kind: FailureKind, detail: impl FnOnce() -> String) -> Outcome {
        self.reusable = false;
        self.detail = Some(detail());
        Outcome::Failed(kind)
    }
}

/// Something said in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Whether we said it.
    pub is_ours: bool,
    /// The bytes, but for secrets.
    pub text: Vec<u8>,
}

/// A task that a connection needs beside its streams (HTTP/2 frames, for example).
pub type Background = Pin<Box<dyn Future<Output = ()>>>;

/// A fresh connection of a driver.
pub struct Connected<T> {
    /// The connection.
    pub connection: T,
    /// Spawned by the engine, dropped with the connection.
    pub background: Option<Background>,
}

/// What a driver needs to compile one operation.
#[derive(Debug, Clone, Copy)]
pub struct Compile<'a> {
    /// The operation as planned.
    pub operation: &'a plan::operation::Operation,
    /// The arm's targets (for the authority of a request, for example).
    pub targets: &'a [plan::target::Target],
    /// When the trial begins, RFC 3339 in UTC; empty where nothing will be sent.
    pub wall_clock: &'a str,
}

/// One kind of conversation. Generic, not boxed: the engine is compiled for the driver.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Driver: Sized + Send + Sync + 'static {
    /// A compiled operation, shared by all workers.
    type Operation: Send + Sync + 'static;
    /// A connection.
    type Connection: 'static;
    /// A stream on a connection, which carries one operation at a time.
    type Stream: 'static;

    /// Names of the spans that this driver stamps, in order, after `connect` and `tls`.
    fn span_names(&self) -> &[&'static str];

    /// Compiles the operation's table.
    ///
    /// Errors: every problem found, with its span in the experiment file
    fn compile(&self, compile: Compile<'_>) -> Result<Self::Operation, Vec<Diagnostic>>;

    /// Holds whatever conversation comes before the first operation, which is this one.
    ///
    /// Errors: the kind of failure and what was seen
    async fn connect<C: Clock>(
        &self,
        operation: &Self::Operation,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<Connected<Self::Connection>, (FailureKind, String)>;

    /// Parts of the target that an operation with this table reads the times of, as far as it can be read.
    fn parts(&self, _table: &Table) -> Vec<Part> {
        Vec::new()
    }

    /// What TLS is to agree on before it is spoken (ALPN), where it must not be guessed.
    fn alpn(&self) -> Option<&'static str> {
        None
    }

    /// Whether a connection carries many operations at a time.
    fn multiplexes(&self) -> bool {
        false
    }

    /// What it has to say of an operation once the trial is over.
    fn note(&self, _operation: &Self::Operation) -> Option<String> {
        None
    }

    /// A stream on this connection; `None` where it carries no further one.
    fn open_stream(&self, connection: &mut Self::Connection) -> Option<Self::Stream>;

    /// Whether a connection goes on, and may carry further streams, where one of its streams was given up.
    fn outlives_streams(&self, _connection: &mut Self::Connection) -> bool {
        false
    }

    /// Whether a connection that was made for another operation may carry this one. One that may not is closed,
    /// and another is made.
    fn fits(&self, _operation: &Self::Operation, _stream: &Self::Stream) -> bool {
        true
    }

    /// Encodes an operation into the stream's buffer; the engine stamps `started_at` right after.
    fn encode(&self, operation: &Self::Operation, stream: &mut Self::Stream, call: &Call);

    /// Sends what was encoded and reads the answer. Dropped in the middle on a time-out, after
    /// which the stream is not used again.
    async fn perform<C: Clock>(
        &self,
        operation: &Self::Operation,
        stream: &mut Self::Stream,
        exchange: &mut Exchange<C>,
    ) -> Outcome;

    /// Resolves when an idle stream can carry nothing more (closed by the peer, or unexpected
    /// bytes); pending for ever otherwise. Must be cancel-safe.
    async fn idle(&self, stream: &mut Self::Stream);
}
