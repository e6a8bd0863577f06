//! The single writer of one worker: counts samples, fills windows, hands them over.

use stats::Histogram;

use crate::{FailureKind, Layout, Sample, Totals};

/// Bounds of the measure phase on the trial's clock, and the length of a window. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Start of the measure phase.
    pub measure_from: u64,
    /// Its end; `u64::MAX` while it is not known (stop by count).
    pub measure_to: u64,
    /// 1 s, or 100 ms when the measure phase is under 30 s.
    pub window: u64,
}

/// Records what one worker sees. Single writer, no lock; nothing allocated while windows stay few.
#[derive(Debug)]
pub struct Recorder {}

/// What a worker hands over when a window of wall time ends.
#[derive(Debug, Default)]
pub struct Batch {
    /// Which worker.
    pub worker: usize,
    /// Windows with new content, by window number.
    pub windows: Vec<WindowPart>,
    /// No operation intended before the end of this window is unfinished: windows below this number
    /// get nothing more from this worker.
    pub closed_below: u64,
    /// Live counts since the last batch: started, succeeded, failed, and in flight now.
    pub started: u64,
    /// See `started`.
    pub succeeded: u64,
    /// See `started`.
    pub failed: u64,
    /// See `started`.
    pub in_flight: u64,
    /// First failures of their kind: operation, kind, detail.
    pub first_failures: Vec<(usize, FailureKind, String)>,
    /// Raw samples, if asked for.
    pub samples: Vec<RawSample>,
}

/// One worker's part of one window. Histograms are coarse.
#[derive(Debug)]
pub struct WindowPart {
    /// Number of the window, from 0 at the start of the measure phase.
    pub window: u64,
    /// By operation.
    pub operations: Vec<OperationWindow>,
}

/// One operation's part of one window.
#[derive(Debug, Default)]
pub struct OperationWindow {
    /// Due in the window.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, by failure kind; empty when none failed.
    pub failed: Vec<(FailureKind, u64)>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// By intended start; `None` when empty.
    pub response_time: Option<Histogram>,
    /// By finish; `None` when empty.
    pub service_time: Option<Histogram>,
}

/// A raw sample, for `--samples`.
#[derive(Debug, Clone, PartialEq)]
pub struct RawSample {
    /// The operation.
    pub operation: usize,
    /// Place in the schedule.
    pub index: u64,
    /// The five instants, from the start of the measure phase.
    pub instants: [i64; 5],
    /// Status code, 0 if none.
    pub status: u16,
    /// `None` when it succeeded.
    pub failure: Option<FailureKind>,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// `connect` span, if a connection was made.
    pub connect_ns: Option<u64>,
    /// Time to the first byte, if stamped.
    pub first_byte_ns: Option<u64>,
}

impl Recorder {
    /// An empty recorder; memory touched.
    pub fn new(_worker: usize, _layout: &Layout, _phases: Phases, _keep_samples: bool) -> Self {
        todo!()
    }

    /// An operation of the measure phase was taken up (or its turn came): counts it as planned.
    pub fn begin(&mut self, _operation: usize, _intended_at: u64) {
        todo!()
    }

    /// An operation that was begun ended (`Abandoned` included). `detail` is what was seen of a failure.
    /// Operations intended outside the measure phase are ignored, here and in `begin` and `miss`.
    pub fn end(&mut self, _sample: &Sample<'_>, _detail: Option<&str>) {
        todo!()
    }

    /// An operation was planned and never begun.
    pub fn miss(&mut self, _operation: usize, _intended_at: u64) {
        todo!()
    }

    /// Tells when the measure phase ended, for a stop by count.
    pub fn set_end(&mut self, _measure_to: u64) {
        todo!()
    }

    /// Hands over what was gathered since the last call.
    pub fn roll(&mut self, _now: u64) -> Batch {
        todo!()
    }

    /// The totals, when everything has ended.
    pub fn finish(self) -> Totals {
        todo!()
    }
}
