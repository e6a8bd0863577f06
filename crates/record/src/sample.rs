//! One operation, as it was measured: five instants, an outcome, sizes, spans.
//!
//! Not here: any judgement of the outcome; a failed operation is data.

use crate::{FailureKind, Spans, Status, StepPlace, TraceId};

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A complete answer that met every expectation.
    Succeeded,
    /// Anything else that ended before the drain deadline.
    Failed(FailureKind),
    /// Begun, and unfinished at the drain deadline: slower than every finished operation.
    Abandoned,
}

/// The record of one finished operation.
///
/// Shape:  `intended_at ≤ dispatched_at ≤ acquired_at ≤ started_at ≤ finished_at`
/// Units:  instants in nanoseconds on the trial's clock; sizes in bytes on the wire
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Index of the operation in the arm's list.
    pub operation: usize,
    /// Its place in the schedule (k of the k-th arrival).
    pub index: u64,
    /// The step of a journey that it is, where operations are listed.
    pub step: Option<StepPlace>,
    /// The trace id that its request carried.
    pub trace: Option<TraceId>,
    /// When the schedule says that it begins.
    pub intended_at: u64,
    /// When the generator took it up.
    pub dispatched_at: u64,
    /// When it had a connection slot.
    pub acquired_at: u64,
    /// Just before the first byte was written.
    pub started_at: u64,
    /// When the last byte of the answer was read, or the failure seen.
    pub finished_at: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The protocol's status.
    pub status: Status,
    /// Connect, TLS, first byte and the protocol's own.
    pub spans: &'a Spans,
    /// Numbers read from the answer, in the order of the operation's item names; `NaN` where absent.
    pub items: &'a [f64],
    /// Bytes written to the wire.
    pub bytes_sent: u64,
    /// Bytes read from the wire.
    pub bytes_received: u64,
}

impl Sample<'_> {
    /// Late release by the generator: always the generator's fault.
    pub fn dispatch_lag(&self) -> u64 {
        self.dispatched_at - self.intended_at
    }

    /// Waiting for a free connection.
    pub fn queue_wait(&self) -> u64 {
        self.acquired_at - self.dispatched_at
    }

    /// Connecting where necessary, and encoding.
    pub fn prepare(&self) -> u64 {
        self.started_at - self.acquired_at
    }

    /// From the first byte written to the last byte read.
    pub fn service_time(&self) -> u64 {
        self.finished_at - self.started_at
    }

    /// From the intended start to the last byte read; the sum of the four above, exactly.
    pub fn response_time(&self) -> u64 {
        self.finished_at - self.intended_at
    }
}
