//! A driver's report on one operation: spans, status, items, sizes, and how it failed.

use std::any::Any;

use record::{FailureKind, Outcome, Spans, Status};

use crate::clock::Clock;

/// A driver's report on one operation, and the clock for its time stamps.
///
/// The worker owns it and clears it before each operation, so that nothing is allocated.
#[derive(Debug)]
pub struct Exchange<C: Clock> {
    clock: C,
    /// Spans, by index in the trial's list; protocol spans start at [`Exchange::FIRST_SPAN`].
    pub spans: Spans,
    /// The protocol's status, if there was one.
    pub status: Status,
    /// Numbers read from the answer, one for each declared item; `NaN` where absent.
    pub items: Vec<f64>,
    /// Bytes written to the wire.
    pub bytes_sent: u64,
    /// Bytes read from the wire.
    pub bytes_received: u64,
    /// Just before the operation was handed to the driver; spans of an operation count from here.
    pub started_at: u64,
    /// When the driver last read from the stream; 0 if unknown. A complete answer ended at this time, before the
    /// instrument checked it.
    pub read_at: u64,
    /// Whether the stream may carry another operation; drivers set it to false otherwise.
    pub reusable: bool,
    /// Whether the connection is closed after this operation, as planned; a driver whose protocol has a farewell then
    /// sends it.
    pub is_last: bool,
    /// The kind of failure if the time-out passes now. The engine sets it before connecting and before performing; a
    /// driver may set a more precise kind.
    pub timeout_kind: FailureKind,
    /// When an operation that is shown gives up by itself, so that what came until then can be shown; elsewhere the
    /// engine drops the operation.
    pub gives_up_at: Option<u64>,
    /// The outcome, once only the farewell remains; the farewell does not change it.
    pub settled: Option<Outcome>,
    /// Where the operation goes on, if it could not end here; its outcome then holds only if nothing is known of that
    /// place.
    pub onward: Option<Onward>,
    /// The dialogue in both directions, if it will be shown; drivers for dialogue protocols add to it.
    pub dialogue: Option<Vec<DialogueEntry>>,
    /// Of a target with several addresses, each connection begins with the next: the network takes this modulo their
    /// number.
    pub(crate) turn: usize,
    /// Place of the address that the network has connected to.
    pub(crate) address: usize,
    /// Index of the current protocol's first span.
    pub(crate) own_spans: usize,
    /// Index of the first span of a part of the target.
    pub(crate) part_spans: usize,
    /// What exactly failed; recorded once for each kind. Set only on failure.
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
            status: Status::None,
            items: Vec::new(),
            bytes_sent: 0,
            bytes_received: 0,
            started_at: 0,
            read_at: 0,
            reusable: true,
            is_last: false,
            timeout_kind: FailureKind::Timeout,
            gives_up_at: None,
            settled: None,
            onward: None,
            dialogue: None,
            turn: 0,
            address: 0,
            own_spans: Self::FIRST_SPAN,
            part_spans: Self::FIRST_SPAN,
            detail: None,
        }
    }

    /// Clears it for the next operation with this many items, keeping its memory.
    pub fn clear(&mut self, items: usize) {
        self.spans.clear();
        self.status = Status::None;
        self.items.clear();
        self.items.resize(items, f64::NAN);
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.started_at = 0;
        self.read_at = 0;
        self.reusable = true;
        self.is_last = false;
        self.timeout_kind = FailureKind::Timeout;
        self.settled = None;
        self.onward = None;
        self.detail = None;
    }

    /// The trial's clock, for the time stamps of a connection's background task.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Nanoseconds on the trial's clock.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Notes the length of the driver's own span with this index, in nanoseconds.
    pub fn stamp(&mut self, own: usize, nanoseconds: u64) {
        self.spans.set(self.own_spans + own, nanoseconds);
    }

    /// Notes one repetition of the driver's own span with this index, in nanoseconds.
    pub fn repeat(&mut self, own: usize, nanoseconds: u64) {
        self.spans.repeat(self.own_spans + own, nanoseconds);
    }

    /// If several protocols share a list of spans, places this protocol's spans after this many others.
    pub fn own_spans_after(&mut self, others: usize) {
        self.own_spans = Self::FIRST_SPAN + others;
    }

    /// Notes the time that the target reports for its part with this index.
    pub fn stamp_part(&mut self, place: usize, nanoseconds: u64) {
        self.spans.set(self.part_spans + place, nanoseconds);
    }

    /// Places the spans of the target's parts after the spans of all protocols.
    pub fn parts_after(&mut self, spans: usize) {
        self.part_spans = Self::FIRST_SPAN + spans;
    }

    /// Adds to the dialogue, if it is to be shown.
    pub fn note_dialogue(&mut self, is_ours: bool, text: &[u8]) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.push(DialogueEntry { is_ours, text: text.to_vec() });
        }
    }

    /// Stamps a read.
    pub fn note_read(&mut self) {
        self.read_at = self.now();
    }

    /// Notes a failure with its detail; the connection is not used again.
    pub fn fail(&mut self, kind: FailureKind, detail: impl FnOnce() -> String) -> Outcome {
        self.reusable = false;
        self.detail = Some(detail());
        Outcome::Failed(kind)
    }
}

/// Where an operation goes on over another connection, as after a redirect.
#[derive(Debug)]
pub struct Onward {
    /// Scheme, host and port ([`crate::transport::Endpoint::origin`]).
    pub origin: String,
    /// How far it has come, for the driver that goes on.
    pub state: Box<dyn Any>,
}

/// Bytes sent in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogueEntry {
    /// Whether the instrument sent it.
    pub is_ours: bool,
    /// The bytes, without secrets.
    pub text: Vec<u8>,
}
