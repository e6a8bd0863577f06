//! What a worker hands over to the collector.

use super::listed::ListedSample;
use super::streak::Streak;
use crate::event::Lateness;
use crate::window::{LateTime, WindowPart};
use crate::{FailureKind, Layout, Outcome, Sample, Status};

/// What a worker hands over when a window of wall time ends.
#[derive(Debug, Default)]
pub struct Batch {
    /// Which worker.
    pub worker: usize,
    /// Windows with new content, by window number.
    pub windows: Vec<WindowPart>,
    /// Times that belong to an older window than the one that was being filled.
    pub late: Vec<LateTime>,
    /// No operation intended before the end of this window is unfinished: windows below this number
    /// get nothing more from this worker.
    pub closed_below: u64,
    /// When it was handed over, on the clock of the trial: live counts are those up to here.
    pub until: u64,
    /// Live counts since the last batch: started, succeeded, failed, and in flight now.
    pub started: u64,
    /// See `started`.
    pub succeeded: u64,
    /// See `started`.
    pub failed: u64,
    /// See `started`.
    pub in_flight: u64,
    /// How late those that ended since the last batch were begun.
    pub lateness: Lateness,
    /// How operations have ended since the trial began.
    pub streak: Streak,
    /// First failures of their kind: operation, kind, detail.
    pub first_failures: Vec<(usize, FailureKind, String)>,
    /// Failures, where the run is traced.
    pub listed_failures: Vec<ListedSample>,
    /// Raw samples, if asked for.
    pub samples: Vec<RawSample>,
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
    /// Status.
    pub status: Status,
    /// `None` when it succeeded or was abandoned.
    pub failure: Option<FailureKind>,
    /// Whether it was unfinished at the drain deadline.
    pub abandoned: bool,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// `connect` span, if a connection was made.
    pub connect_ns: Option<u64>,
    /// Time to the first byte, if stamped.
    pub first_byte_ns: Option<u64>,
}

/// Where in a sample's spans those stand that a raw sample carries.
#[derive(Debug)]
pub(super) struct SampleSpans {
    connect: Option<usize>,
    first_byte: Option<usize>,
}

impl SampleSpans {
    pub(super) fn of(layout: &Layout) -> Self {
        let place = |name: &str| layout.spans.iter().position(|span| span == name);
        Self { connect: place("connect"), first_byte: place("first_byte") }
    }
}

impl RawSample {
    pub(super) fn new(sample: &Sample<'_>, origin: u64, spans: &SampleSpans) -> Self {
        let instants = [
            sample.intended_at,
            sample.dispatched_at,
            sample.acquired_at,
            sample.started_at,
            sample.finished_at,
        ];
        Self {
            operation: sample.operation,
            index: sample.index,
            instants: instants.map(|instant| instant.wrapping_sub(origin) as i64),
            status: sample.status,
            failure: match sample.outcome {
                Outcome::Failed(kind) => Some(kind),
                Outcome::Succeeded | Outcome::Abandoned => None,
            },
            abandoned: sample.outcome == Outcome::Abandoned,
            bytes_sent: sample.bytes_sent,
            bytes_received: sample.bytes_received,
            connect_ns: spans.connect.and_then(|place| sample.spans.get(place)),
            first_byte_ns: spans.first_byte.and_then(|place| sample.spans.get(place)),
        }
    }
}
